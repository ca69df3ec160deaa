//! Finds names in a text by their spelling and by the words around them.

use std::{cmp::Reverse, ops::Range};

use memory_engine_core::text::{is_han, normalize};
use memory_engine_text::{Words, is_code_block, sentences};

use crate::{
    data::{DataPattern, data},
    metadata::types::{MAX_ENTITIES, MAX_ENTITY_CHARS},
    terms::is_stop,
    text::{has_han, is_capitalised},
};

/// Maximum number of characters of a Chinese institution's name before its ending, such as 医院.
const INSTITUTION_MAX_CHARS: usize = 8;

data! {
    DATA = "zh/entities.toml", "en/entities.toml";
    DataPattern: name, institution;
    Words: brands, no_names;
    String: outside_names;
}

/// A name with its position in the text.
type FoundEntity = (usize, String);

/// Returns the names in a text, each once, in the order of the text.
pub(super) fn entities(text: &str) -> Vec<String> {
    let mut found = Vec::new();
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
    let mut folded_names: Vec<String> = Vec::new();
    for (_, name) in found {
        if names.len() == MAX_ENTITIES {
            break;
        }
        let folded = normalize(&name);
        let is_short = name.chars().count() <= MAX_ENTITY_CHARS;
        if is_short && !folded_names.iter().any(|known| known.contains(&folded)) {
            names.push(name);
            folded_names.push(folded);
        }
    }
    names
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
        let is_name = start < end.start() || DATA.brands.contains(end.as_str());
        is_name.then(|| (start, text[start..end.end()].to_owned()))
    })
}

/// Returns the start of an institution's name that ends with `before`.
fn institution_start(before: &str) -> usize {
    let mut start = before.len();
    for (at, c) in before.char_indices().rev().take(INSTITUTION_MAX_CHARS) {
        let is_part_of_name = c == '和' && before[..at].ends_with('协');
        if !is_part_of_name && (!is_han(c) || DATA.outside_names.contains(c)) {
            break;
        }
        start = at;
    }
    start
}

/// Returns the runs of capitalised words in a sentence. A sentence mostly in capitals has none.
fn western_names(sentence: &str) -> impl Iterator<Item = Range<usize>> {
    let mut names: Vec<Range<usize>> = Vec::new();
    let mut previous_is_name = false;
    let words = if is_code_block(sentence) { Vec::new() } else { words(sentence) };
    let is_all_caps =
        sentence.chars().filter(|c| c.is_lowercase()).count() < sentence.chars().filter(|c| c.is_uppercase()).count();
    for (n, word) in words.iter().enumerate() {
        let is_name = !is_all_caps && word.is_name(sentence, n == 0);
        match names.last_mut().filter(|_| previous_is_name && word.joined) {
            Some(name) if is_name => name.end = word.bare.end,
            _ if is_name => names.push(word.bare.clone()),
            _ => {}
        }
        previous_is_name = is_name;
    }
    names.into_iter()
}

/// A word of letters or digits.
struct WordSpan {
    range: Range<usize>,
    /// The word without punctuation marks at its end and without a possessive `'s`.
    bare: Range<usize>,
    /// True if only spaces, `&` and `-` separate the word from the previous one.
    joined: bool,
}

fn words(sentence: &str) -> Vec<WordSpan> {
    let is_letter = |c: char| c.is_alphanumeric() && !is_han(c);
    let mut words = Vec::new();
    let mut at = 0;
    let mut joined = true;
    while let Some(c) = sentence[at..].chars().next() {
        if !is_letter(c) {
            joined &= matches!(c, ' ' | '&' | '-');
            at += c.len_utf8();
            continue;
        }
        let is_in_word = |c: char| is_letter(c) || matches!(c, '\'' | '’' | '-' | '.');
        let end = sentence[at..].find(|c| !is_in_word(c)).map_or(sentence.len(), |length| at + length);
        let bare = sentence[at..end].trim_end_matches(['.', '\'', '’', '-']);
        let bare = bare.strip_suffix("'s").or_else(|| bare.strip_suffix("’s")).unwrap_or(bare);
        words.push(WordSpan { range: at..end, bare: at..at + bare.len(), joined });
        at = end;
        joined = true;
    }
    words
}

impl WordSpan {
    fn is_name(&self, sentence: &str, is_first: bool) -> bool {
        let word = &sentence[self.bare.clone()];
        let lower = word.to_lowercase().replace('’', "'");
        let is_common_word = is_stop(&lower) || DATA.no_names.contains(&lower) || lower.contains('\'');
        is_capitalised(word) && !is_common_word && !(is_first && self.is_common_opening(sentence, &lower))
    }

    /// Returns true if the first word of a sentence is capitalised only because it is the first: it is not the only
    /// word, not before another capitalised word, not a possessive, and not an address before a comma.
    fn is_common_opening(&self, sentence: &str, lower: &str) -> bool {
        let after = &sentence[self.range.end..];
        let word = &sentence[self.range.clone()];
        let is_address = after.starts_with(',');
        let is_possessive = word.ends_with("'s") || word.ends_with("’s");
        let is_before_capital = is_capitalised(after.trim_start());
        let is_only_word = !after.chars().any(char::is_alphabetic);
        let may_be_name = is_before_capital || is_only_word || is_possessive || is_address || has_han(sentence);
        lower.chars().count() > 1 && !may_be_name
    }
}

#[cfg(test)]
mod tests;
