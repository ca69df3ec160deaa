//! The vectors of the words of a text, from the bundled tables.

use memory_engine_core::{MultiVector, text::is_han};

#[cfg(feature = "chinese")]
use crate::chinese_table::ChineseTable;
#[cfg(feature = "english")]
use crate::word_table::WordTable;

/// Returns the vectors of the words of a text from the bundled table of its language, for
/// [`Embedder::static_tokens`](crate::Embedder::static_tokens). Vectors of different languages have different
/// dimensions. `None` for a text in another language, and in a language whose feature (`english`, `chinese`) is off.
pub fn word_vectors(text: &str) -> Option<MultiVector> {
    if is_english(text) {
        #[cfg(feature = "english")]
        return WordTable::bundled().token_vectors(text);
    } else if text.contains(is_han) {
        #[cfg(feature = "chinese")]
        return ChineseTable::bundled().token_vectors(text);
    }
    None
}

/// Returns true if most words of a text have Latin letters. A Chinese character, or a letter of another script, counts
/// as a word.
pub(crate) fn is_english(text: &str) -> bool {
    let is_latin = |c: char| c.is_ascii_alphabetic() || ('\u{c0}'..='\u{24f}').contains(&c);
    let latin_words = text.split(|c: char| !is_latin(c)).filter(|word| !word.is_empty()).count();
    let others = text.chars().filter(|c| is_han(*c) || (c.is_alphabetic() && !is_latin(*c))).count();
    latin_words > others
}
