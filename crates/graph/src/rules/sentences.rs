//! Splits text into sentences.

use crate::titles;

/// A sentence of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sentence<'t> {
    /// The text without the end mark.
    pub(super) text: &'t str,
    /// The end mark. `None` at the end of the text.
    pub(super) end: Option<char>,
}

impl Sentence<'_> {
    /// Returns true for a sentence that ends with a question mark.
    pub(super) fn is_question(&self) -> bool {
        matches!(self.end, Some('?' | '？'))
    }
}

/// Splits a text into sentences. A full stop ends a sentence before white space, a quotation mark or the end of the
/// text, unless it belongs to a title or an initial.
pub(super) fn split(text: &str) -> Vec<Sentence<'_>> {
    let mut sentences = Vec::new();
    let mut start = 0;
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let next = characters.peek().map(|(_, c)| *c);
        let ends_sentence = match c {
            '。' | '！' | '？' | '!' | '?' | '\n' | '；' | '…' => true,
            '.' => {
                let word = text[start..at].rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
                let before_break = next.is_none_or(|c| c.is_whitespace() || matches!(c, '”' | '"'));
                before_break && !titles::is_prefix(word) && word.chars().count() != 1
            }
            _ => false,
        };
        if ends_sentence {
            sentences.push(Sentence { text: &text[start..at], end: Some(c) });
            start = at + c.len_utf8();
        }
    }
    sentences.push(Sentence { text: &text[start..], end: None });
    sentences.retain(|sentence| !sentence.text.trim().is_empty());
    sentences
}

#[cfg(test)]
mod tests;
