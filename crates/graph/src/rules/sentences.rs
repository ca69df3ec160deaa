//! Splits text into sentences.

use crate::titles;

/// Returns the sentences of a text, without their end marks. A full stop ends a sentence before a blank or the end of
/// the text, unless it is that of a title or an initial.
pub(super) fn of(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let next = characters.peek().map(|(_, c)| *c);
        let ends = match c {
            '。' | '！' | '？' | '!' | '?' | '\n' | '；' | '…' => true,
            '.' => {
                let word = text[start..at].rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
                next.is_none_or(char::is_whitespace) && !titles::is_before(word) && word.chars().count() != 1
            }
            _ => false,
        };
        if ends {
            sentences.push(&text[start..at]);
            start = at + c.len_utf8();
        }
    }
    sentences.push(&text[start..]);
    sentences.retain(|sentence| !sentence.trim().is_empty());
    sentences
}

#[cfg(test)]
mod tests;
