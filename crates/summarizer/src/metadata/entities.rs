//! Names in a text, by how they are written and by the words around them.

use std::{cmp::Reverse, ops::Range};

use memory_engine_core::{
    phrases::stands_alone,
    text::{is_han, normalize},
};

use crate::{
    data::{Pattern, Words, data},
    metadata::types::MAX_ENTITIES,
    sentence::sentences,
    terms::is_stop,
    text::{has_han, is_capitalised},
};

/// Maximum number of characters that a Chinese institution has before its end.
const INSTITUTION_MAX_CHARS: usize = 8;

data! {
    DATA = "zh/entities.toml", "en/entities.toml";
    Pattern: name, institution;
    Words: brands, no_names;
    String: outside_names;
}

/// A name and its place in the text.
type FoundEntity = (usize, String);

/// Returns the names in a text, each once, in their order.
pub(super) fn entities(text: &str, known: &[String]) -> Vec<String> {
    let mut found = known_names(text, known);
    if has_han(text) {
        found.extend(chinese_names(text));
        found.extend(institutions(text));
    }
    for range in sentences(text) {
        let sentence = &text[range.clone()];
        found.extend(western_names(sentence).map(|name| (range.start + name.start, sentence[name].to_owned())));
    }
    found.sort_by_key(|(at, name)| (*at, Reverse(name.len())));
    let mut names: Vec<String> = Vec::new();
    for (_, name) in found {
        let folded = normalize(&name);
        if !names.iter().any(|known| normalize(known).contains(&folded)) {
            names.push(name);
        }
    }
    names.truncate(MAX_ENTITIES);
    names
}

fn known_names(text: &str, known: &[String]) -> Vec<FoundEntity> {
    let folded = normalize(text);
    let place = |name: &str| {
        let places = folded.match_indices(name).map(|(at, _)| at);
        // A place in the folded text is near enough for the order.
        places.into_iter().find(|at| stands_alone(&folded, *at, at + name.len()))
    };
    known.iter().filter_map(|name| Some((place(&normalize(name))?, name.clone()))).collect()
}

fn chinese_names(text: &str) -> impl Iterator<Item = FoundEntity> {
    DATA.name.captures_iter(text).filter_map(|found| {
        let name = found.iter().skip(1).flatten().next()?;
        Some((name.start(), name.as_str().to_owned()))
    })
}

fn institutions(text: &str) -> impl Iterator<Item = FoundEntity> {
    DATA.institution.find_iter(text).filter_map(|end| {
        let start = institution_start(&text[..end.start()]);
        let named = start < end.start() || DATA.brands.contains(end.as_str());
        named.then(|| (start, text[start..end.end()].to_owned()))
    })
}

/// Returns the place behind the last word that is no part of an institution's name.
fn institution_start(before: &str) -> usize {
    let mut start = before.len();
    for (at, c) in before.char_indices().rev().take(INSTITUTION_MAX_CHARS) {
        let inside = c == '和' && before[..at].ends_with('协');
        if !inside && (!is_han(c) || DATA.outside_names.contains(c)) {
            break;
        }
        start = at;
    }
    start
}

/// Returns the runs of words with a capital in a sentence.
fn western_names(sentence: &str) -> impl Iterator<Item = Range<usize>> {
    let mut names: Vec<Range<usize>> = Vec::new();
    let mut open = false;
    let words = if sentence.starts_with("```") { Vec::new() } else { words(sentence) };
    let shouted =
        sentence.chars().filter(|c| c.is_lowercase()).count() < sentence.chars().filter(|c| c.is_uppercase()).count();
    for (n, word) in words.iter().enumerate() {
        let is_name = !shouted && word.is_name(sentence, n == 0);
        match names.last_mut().filter(|_| open && word.joined) {
            Some(name) if is_name => name.end = word.bare.end,
            _ if is_name => names.push(word.bare.clone()),
            _ => {}
        }
        open = is_name;
    }
    names.into_iter()
}

/// A word of letters or digits.
struct Word {
    range: Range<usize>,
    /// The word without marks at its end and without a possessive.
    bare: Range<usize>,
    /// Nothing but spaces, `&` and `-` stands between the word before and this one.
    joined: bool,
}

fn words(sentence: &str) -> Vec<Word> {
    let is_letter = |c: char| c.is_alphanumeric() && !is_han(c);
    let (mut words, mut at, mut joined) = (Vec::new(), 0, true);
    while let Some(c) = sentence[at..].chars().next() {
        if !is_letter(c) {
            joined &= matches!(c, ' ' | '&' | '-');
            at += c.len_utf8();
            continue;
        }
        let inside = |c: char| is_letter(c) || matches!(c, '\'' | '’' | '-' | '.');
        let end = sentence[at..].find(|c| !inside(c)).map_or(sentence.len(), |length| at + length);
        let bare = sentence[at..end].trim_end_matches(['.', '\'', '’', '-']);
        let bare = bare.strip_suffix("'s").or_else(|| bare.strip_suffix("’s")).unwrap_or(bare);
        words.push(Word { range: at..end, bare: at..at + bare.len(), joined });
        (at, joined) = (end, true);
    }
    words
}

impl Word {
    fn is_name(&self, sentence: &str, first: bool) -> bool {
        let word = &sentence[self.bare.clone()];
        let lower = word.to_lowercase().replace('’', "'");
        let plain = is_stop(&lower) || DATA.no_names.contains(&lower) || lower.contains('\'');
        is_capitalised(word) && !plain && !(first && self.is_common_opening(sentence, &lower))
    }

    /// Returns true if the first word of a sentence has its capital for that reason: no name goes on behind it, and it
    /// is neither an owner nor addressed.
    fn is_common_opening(&self, sentence: &str, lower: &str) -> bool {
        let after = &sentence[self.range.end..];
        let whole = &sentence[self.range.clone()];
        let addressed = after.starts_with(',');
        let owner = whole.ends_with("'s") || whole.ends_with("’s");
        let stands_alone = is_capitalised(after.trim_start()) || !after.chars().any(char::is_alphabetic);
        lower.chars().count() > 1 && !stands_alone && !has_han(sentence) && !owner && !addressed
    }
}

#[cfg(test)]
mod tests;
