//! Stop words: words that are too common to indicate the subject of a text.

use memory_engine_text::data;
use rustc_hash::FxHashSet;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StopWords {
    english: FxHashSet<String>,
    chinese: FxHashSet<String>,
}

data!(STOP_WORDS: StopWords = "en/stop_words.toml", "zh/stop_words.toml");

/// Returns true if an English word, in lower case and without apostrophes, is a stop word.
pub(super) fn is_english(word: &str) -> bool {
    STOP_WORDS.english.contains(word)
}

/// Returns true if a Chinese word is a stop word.
pub(super) fn is_chinese(word: &str) -> bool {
    STOP_WORDS.chinese.contains(word)
}

#[cfg(test)]
mod tests;
