//! The words of a text, as people read them.

use memory_engine_core::text;

use super::{han, stop_words, syllabic::is_syllabic, word};

/// A word in its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word<'t> {
    /// The byte that it begins at.
    pub start: usize,
    /// The word, as the text spells it.
    pub text: &'t str,
}

impl Word<'_> {
    /// The byte after it.
    pub fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// Returns the words of a text in their order, without stop words, punctuation and the `'s` of an owner: for display
/// and for matching whole words. An index holds other terms: those of the [`Analyzer`](crate::Analyzer).
///
/// Chinese is cut by jieba's dictionary; without the feature `chinese`, at stop words only. Japanese and Korean stay
/// whole between other scripts. Text that has been [normalised](memory_engine_core::text::normalize) is cut best.
///
/// ```
/// let words: Vec<&str> = memory_engine_keyword_store::words("Krueger的纹身").iter().map(|word| word.text).collect();
/// assert_eq!(words, ["Krueger", "纹身"]);
/// ```
pub fn words(text: &str) -> Vec<Word<'_>> {
    let characters: Vec<char> = text.chars().collect();
    // The byte that each character begins at, and the end.
    let mut starts: Vec<usize> = text.char_indices().map(|(start, _)| start).collect();
    starts.push(text.len());
    let mut found = Vec::new();
    let mut at = 0;
    while at < characters.len() {
        let run = |belongs: fn(char) -> bool| characters[at..].iter().take_while(|c| belongs(**c)).count();
        let mut emit = |from: usize, to: usize| {
            found.push(Word { start: starts[from], text: &text[starts[from]..starts[to]] });
        };
        let c = characters[at];
        at += if text::is_han(c) {
            let length = run(text::is_han);
            for (from, to) in han::cut(&characters[at..at + length]) {
                emit(at + from, at + to);
            }
            length
        } else if is_syllabic(c) {
            let length = run(is_syllabic);
            emit(at, at + length);
            length
        } else if c.is_alphanumeric() {
            let length = word::length(&characters[at..]);
            let word = &characters[at..at + length];
            let own = match word {
                [own @ .., '\'' | '’', 's' | 'S'] => own.len(),
                _ => length,
            };
            let plain: String =
                word[..own].iter().filter(|c| !is_apostrophe(**c)).flat_map(|c| c.to_lowercase()).collect();
            if !stop_words::is_english(&plain) {
                emit(at, at + own);
            }
            length
        } else {
            1
        };
    }
    found
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '’')
}

#[cfg(test)]
mod tests;
