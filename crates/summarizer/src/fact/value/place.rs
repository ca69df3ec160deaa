//! Places.

use std::collections::BTreeMap;

use memory_engine_core::text::is_han;
use memory_engine_text::Words;

use super::{
    person::begins_no_name,
    phrase::{is_deictic, without_particles},
};
use crate::{
    data::{DataPattern, data},
    text::{is_capitalised, one_line},
};

/// Maximum number of words of a place.
const PLACE_MAX_WORDS: usize = 5;
/// Maximum length of an unknown Chinese name of a place, in characters.
const ZH_PLACE_NAME_MAX_CHARS: usize = 5;

data! {
    DATA = "en/places.toml", "zh/places.toml";
    Words: name_particles, the_countries, not_places, zh_common_places, zh_places, zh_place_stops, zh_place_ends;
    Words: zh_region_ends;
    BTreeMap<String, String>: demonyms;
    DataPattern: region, lower_place, zh_no_place, zh_place_tail;
}

/// Returns the capitalised words that a text begins with, including particles such as "of" between them.
pub(super) fn capitalised(text: &str, max_words: usize) -> Option<String> {
    let all: Vec<&str> = text.split_whitespace().collect();
    let mut words: Vec<String> = Vec::new();
    for (n, word) in all.iter().enumerate() {
        let plain = word.trim_end_matches([',', '，']);
        let is_particle = if words.is_empty() { plain == "the" } else { DATA.name_particles.contains(plain) };
        if !(begins_name(plain) || is_particle) || words.len() == max_words {
            break;
        }
        // "Austin, Texas" continues after the comma, "Austin, I moved" does not.
        let has_comma = plain.len() < word.len();
        let continues = all.get(n + 1).is_some_and(|next| begins_name(next));
        words.push(if has_comma && continues { format!("{plain},") } else { plain.to_owned() });
        if has_comma && !continues {
            break;
        }
    }
    while words.last().is_some_and(|word| !is_capitalised(word)) {
        words.pop();
    }
    let name = words.join(" ");
    name.chars().any(char::is_uppercase).then(|| name.trim_end_matches("'s").trim_end_matches(',').to_owned())
}

/// Returns true if a word is capitalised and is not "I".
fn begins_name(word: &str) -> bool {
    is_capitalised(word) && word != "I" && !word.starts_with("I'")
}

pub(super) fn place(text: &str) -> Option<String> {
    if let Some(region) = DATA.region.first(text) {
        return Some(region.to_lowercase());
    }
    let name = capitalised(text, PLACE_MAX_WORDS);
    if let (None, Some(known)) = (&name, DATA.lower_place.first(text)) {
        // In "a berlin based company", the place is not that of the speaker.
        let is_of_company = text[known.len()..].trim_start().starts_with("based");
        return (!is_of_company).then(|| one_line(known));
    }
    name.filter(|name| is_place(name))
}

/// Returns the country of a demonym: "Croatia" of "Croatian".
pub(super) fn country(text: &str) -> Option<String> {
    DATA.demonyms.get(&text.to_lowercase()).cloned()
}

/// Returns a place of the list of well-known ones.
pub(super) fn known_place(text: &str) -> Option<String> {
    is_known_place(text).then(|| one_line(text))
}

/// Returns true if a whole text is the name of a well-known place.
pub(super) fn is_known_place(text: &str) -> bool {
    DATA.lower_place.first(text.trim()).is_some_and(|known| known.len() == text.trim().len())
}

fn is_place(name: &str) -> bool {
    let bare = name.strip_prefix("the ").unwrap_or(name);
    let first = bare.split([' ', ',']).next().unwrap_or_default();
    let is_no_name = begins_no_name(first) && !(first == "New" && name.contains(' '));
    let is_acronym = name.starts_with("the ")
        && first.len() > 1
        && first.chars().all(char::is_uppercase)
        && !DATA.the_countries.contains(first);
    first.len() > 1
        && !is_no_name
        && !is_acronym
        && !bare.to_lowercase().split(' ').any(|word| DATA.not_places.contains(word))
}

/// Returns the place that a Chinese text begins with. An unknown name of a few characters is a place, too, because the
/// pattern of the rule asks for one.
pub(super) fn zh_place(text: &str) -> Option<String> {
    let bare = without_particles(DATA.zh_place_tail.before(DATA.zh_place_stops.text_before(text)));
    let length = bare.chars().count();
    let is_excluded = DATA.zh_no_place.is_match(bare) || is_deictic(bare);
    let is_common = DATA.zh_common_places.contains(bare);
    let is_known = DATA.zh_places.any_in(bare) || DATA.zh_place_ends.any_ends(bare);
    let is_name = bare.chars().all(is_han) && length <= ZH_PLACE_NAME_MAX_CHARS;
    let fits = (2..=12).contains(&length) && (is_common || (!is_excluded && (is_known || is_name)));
    fits.then(|| bare.to_owned())
}

/// Returns a Chinese place that is known, or whose name shows that it is one.
pub(super) fn zh_known_place(text: &str) -> Option<String> {
    zh_place(text).filter(|place| DATA.zh_places.any_in(place) || DATA.zh_place_ends.any_ends(place))
}

/// Returns the place of `我是湖南人`.
pub(super) fn zh_native_place(text: &str) -> Option<String> {
    let bare = text.trim_start_matches("地道的").trim_start_matches("土生土长的").trim_start_matches('个');
    let length = bare.chars().count();
    let is_region = length >= 3 && DATA.zh_region_ends.any_ends(bare);
    let is_in_known_place = length <= 8 && DATA.zh_places.any_starts(bare) && !bare.contains('的');
    let is_place = DATA.zh_places.contains(bare) || is_region || is_in_known_place;
    (is_place && !is_deictic(bare)).then(|| bare.to_owned())
}
