//! Splits a text into words for display.

use memory_engine_core::text;

use super::{han, run::run_length, stop_words, syllabic::is_syllabic, word};

/// A word in its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WordSpan<'t> {
    /// Offset of its first byte in the text.
    pub start: usize,
    /// The word, as the text spells it.
    pub text: &'t str,
}

impl WordSpan<'_> {
    /// Returns the offset of the byte after the word.
    pub fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// Returns the words of a text in order, without stop words, punctuation and the possessive `'s`, for display and for
/// matching whole words. An index contains other terms: those of the [`Analyzer`](crate::Analyzer).
///
/// Chinese is cut by jieba's dictionary; without the feature `chinese`, at stop words only. A run of Japanese kana or
/// of Korean is one word. [Normalised](memory_engine_core::text::normalize) text gives the best results.
///
/// ```
/// let words: Vec<&str> = memory_engine_keyword_store::words("Krueger的纹身").iter().map(|word| word.text).collect();
/// assert_eq!(words, ["Krueger", "纹身"]);
/// ```
pub fn words(text: &str) -> Vec<WordSpan<'_>> {
    let characters: Vec<char> = text.chars().collect();
    // The byte offset of each character, and the length of the text.
    let mut offsets: Vec<usize> = text.char_indices().map(|(offset, _)| offset).collect();
    offsets.push(text.len());
    let mut words = Vec::new();
    let mut position = 0;
    while position < characters.len() {
        let remaining = &characters[position..];
        let mut push_word = |start: usize, end: usize| {
            let start = offsets[position + start];
            let end = offsets[position + end];
            words.push(WordSpan { start, text: &text[start..end] });
        };
        let first = remaining[0];
        position += if text::is_han(first) {
            let length = run_length(remaining, text::is_han);
            for (start, end) in han::word_ranges(&remaining[..length]) {
                push_word(start, end);
            }
            length
        } else if is_syllabic(first) {
            let length = run_length(remaining, is_syllabic);
            push_word(0, length);
            length
        } else if first.is_alphanumeric() {
            let length = word::length(remaining);
            let without_possessive = match &remaining[..length] {
                [owner @ .., '\'' | '’', 's' | 'S'] => owner,
                word => word,
            };
            let plain: String =
                without_possessive.iter().filter(|c| !is_apostrophe(**c)).flat_map(|c| c.to_lowercase()).collect();
            if !stop_words::is_english(&plain) {
                push_word(0, without_possessive.len());
            }
            length
        } else {
            1
        };
    }
    words
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '’')
}

#[cfg(test)]
mod tests;
