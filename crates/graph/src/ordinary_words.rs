//! Ordinary Chinese words of two characters.

use std::collections::HashMap;

use memory_engine_text::data;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OrdinaryWords {
    /// The second characters of the words by their first character.
    ordinary_words: HashMap<char, String>,
}

data!(WORDS: OrdinaryWords = "zh/ordinary_words.toml");

/// Returns true if two simplified characters are an ordinary word. Names of people and organisations are none.
pub(crate) fn is_ordinary_word(first: char, second: char) -> bool {
    WORDS.ordinary_words.get(&first).is_some_and(|seconds| seconds.contains(second))
}
