//! Common English words, and words without punctuation marks at their end.

use std::collections::HashSet;

use memory_engine_text::data;
use serde::Deserialize;

use crate::titles;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CommonWords {
    words: HashSet<String>,
}

data!(COMMON: CommonWords = "en/common.toml");

/// Returns true if a lower-case English word is a common one.
pub(crate) fn is_common(word: &str) -> bool {
    let word = word.replace('’', "'");
    let is_letter = word.chars().count() < 2 && word.is_ascii() && !word.chars().any(|c| c.is_ascii_digit());
    is_letter || COMMON.words.contains(&word)
}

/// Returns a word without the full stop, the hyphens and the `'s` at its end. The full stop of a title or an initial
/// stays.
pub(crate) fn without_ending(word: &str) -> &str {
    let word = word.trim_end_matches(['\'', '’', '-']);
    let word = word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word);
    let bare = word.trim_end_matches('.');
    let is_abbreviation = titles::is_prefix(bare) || bare.chars().count() == 1 || bare.contains('.');
    if is_abbreviation && word.len() == bare.len() + 1 { word } else { bare }
}
