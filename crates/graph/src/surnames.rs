//! Chinese surnames, and what can follow them in a name.

use memory_engine_core::text::is_han;
use memory_engine_text::{Words, data};
use serde::Deserialize;

use crate::{ordinary_words::is_ordinary_word, titles};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Surnames {
    surnames: String,
    double_surnames: Words,
    surnames_like_words: String,
    surnames_like_prepositions: String,
    never_in_names: String,
    #[cfg_attr(not(feature = "extractors"), expect(dead_code, reason = "only the extractors read titles"))]
    in_titled_names: String,
    rarely_in_given_names: String,
    given_name_characters: String,
    given_name_words: Words,
    pub(crate) not_names: Words,
}

data!(pub(crate) SURNAMES: Surnames = "zh/surnames.toml", "zh/given_names.toml");

/// Maximum length of an entry of `not_names`, in characters.
const NOT_NAME_MAX_CHARS: usize = 3;

/// Returns the number of characters of the surname that a text begins with.
pub(crate) fn surname_length(folded: &[char]) -> Option<usize> {
    let first_two: String = folded.iter().take(2).collect();
    if SURNAMES.double_surnames.contains(&first_two) {
        return Some(2);
    }
    folded.first().filter(|c| SURNAMES.surnames.contains(**c)).map(|_| 1)
}

/// Returns true if two characters are a surname together.
#[cfg(feature = "extractors")]
pub(crate) fn is_double_surname(first: char, second: char) -> bool {
    SURNAMES.double_surnames.contains(&String::from_iter([first, second]))
}

/// Returns false for particles, pronouns, verbs and prepositions, which no name contains.
pub(crate) fn may_be_in_name(c: char) -> bool {
    !SURNAMES.never_in_names.contains(c)
}

/// Returns true for a given name that is likely because a title follows it, although it contains a particle: 若兰 in
/// 温若兰医生. The rest must be frequent in given names.
#[cfg(feature = "extractors")]
pub(crate) fn is_titled_given_name(given_name: &[char]) -> bool {
    let [first, second] = given_name else { return false };
    let is_particle = |c: &char| SURNAMES.in_titled_names.contains(*c);
    (is_particle(first) && is_given_name_character(*second)) || (is_given_name_character(*first) && is_particle(second))
}

/// Returns false for common characters that given names rarely contain.
pub(crate) fn may_be_in_given_name(c: char) -> bool {
    may_be_in_name(c) && is_han(c) && !SURNAMES.rarely_in_given_names.contains(c)
}

/// Returns true for characters that are more frequent in given names than in other text.
fn is_given_name_character(c: char) -> bool {
    SURNAMES.given_name_characters.contains(c)
}

/// Returns true if a surname at `start` with the next `given` characters (one or two) is likely to be a full name, or a
/// surname with a title. `text` has simplified characters; those around the name show whether it is part of other
/// words.
pub(crate) fn is_likely_name(text: &[char], start: usize, surname: usize, given: usize) -> bool {
    let Some(given_name) = text.get(start + surname..start + surname + given) else { return false };
    let word: String = given_name.iter().collect();
    let is_title = titles::suffixes().contains(&word);
    let begins_inside_word = start > 0 && surname == 1 && is_ordinary_word(text[start - 1], text[start]);
    if begins_inside_word || overlaps_other_word(text, start, start + surname + given) {
        return false;
    }
    if SURNAMES.surnames_like_prepositions.contains(text[start]) && begins_with_name(&text[start + 1..]) {
        return false;
    }
    if is_title || SURNAMES.given_name_words.contains(&word) {
        return true;
    }
    if !given_name.iter().all(|c| may_be_in_given_name(*c)) {
        return false;
    }
    let is_common_given_name = given == 2 && given_name.iter().all(|c| is_given_name_character(*c));
    if is_common_given_name {
        return true;
    }
    let is_word = given == 2 && is_ordinary_word(given_name[0], given_name[1]);
    !is_word && is_likely_in_context(text, start, surname, given_name)
}

/// Returns true if a given name without common characters is likely, by the characters around it.
fn is_likely_in_context(text: &[char], start: usize, surname: usize, given_name: &[char]) -> bool {
    let last = given_name[given_name.len() - 1];
    let ends_inside_word = text
        .get(start + surname + given_name.len())
        .is_some_and(|next| is_ordinary_word(last, *next) && !is_given_name_character(last));
    let is_word = surname == 1
        && (is_ordinary_word(text[start], given_name[0]) || SURNAMES.surnames_like_words.contains(text[start]));
    !ends_inside_word && !is_word
}

/// Returns true if a text begins with a name of a surname and one or two characters, or with a surname and a title.
fn begins_with_name(text: &[char]) -> bool {
    surname_length(text).is_some_and(|surname| (1..=2).any(|given| is_likely_name(text, 0, surname, given)))
}

/// Returns true if a part of the text overlaps a word that begins like a name and is none.
fn overlaps_other_word(text: &[char], start: usize, end: usize) -> bool {
    let from = start.saturating_sub(NOT_NAME_MAX_CHARS - 1);
    let until = text.len().min(end + NOT_NAME_MAX_CHARS - 1);
    (from..end).any(|at| {
        (2..=NOT_NAME_MAX_CHARS).any(|length| {
            let overlaps = at + length > start && at + length <= until;
            // A word of two characters must be inside the part: 王子 does not count for 小王 in 小王子.
            let may_overlap = length > 2 || (at >= start && at + length <= end);
            overlaps && may_overlap && SURNAMES.not_names.contains(&text[at..at + length].iter().collect::<String>())
        })
    })
}
