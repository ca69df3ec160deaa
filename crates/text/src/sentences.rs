//! Splits text into sentences, in Chinese and English.

use std::ops::Range;

use memory_engine_core::text::is_han;

use crate::{code::fenced_blocks, words::Words};

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct SentenceWords {
    abbreviations: Words,
}

data!(DATA: SentenceWords = "en/sentences.toml");

/// Rules that say where a sentence ends. A line break always ends one.
#[derive(Debug, Clone, Copy)]
pub struct SentenceRules {
    /// Marks that end a sentence wherever they stand.
    pub ends: &'static str,
    /// Marks that end a sentence only before a break or the end of the text.
    pub ends_before_break: &'static str,
    /// Returns true for a break: white space and, in some texts, other characters.
    pub is_break: fn(char) -> bool,
    /// Marks that belong to the sentence if they follow its end.
    pub closing: &'static str,
    /// Returns true if the full stop after this part of a sentence and before this character ends no sentence.
    pub continues: fn(&str, Option<char>) -> bool,
}

/// A sentence of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sentence<'t> {
    /// Its position in the text, in bytes.
    pub start: usize,
    /// The sentence without the marks at its end.
    pub body: &'t str,
    /// The sentence with the marks at its end.
    pub text: &'t str,
}

impl<'t> Sentence<'t> {
    /// Returns the marks at the end of the sentence. Empty for the rest of a text without an end mark.
    pub fn marks(&self) -> &'t str {
        &self.text[self.body.len()..]
    }

    /// Returns true if its end marks begin with a question mark, as in "what?!". Full stops before it do not count, as
    /// in "at 9 a.m.?".
    pub fn is_question(&self) -> bool {
        self.marks().trim_start_matches('.').starts_with(['?', '？'])
    }
}

impl SentenceRules {
    /// Messages and queries, whose writers use semicolons and tildes as ends of sentences.
    pub const MESSAGE: Self = Self {
        ends: "。！？!?；;…~",
        ends_before_break: ".",
        is_break: char::is_whitespace,
        closing: "。！？!?；;…~.",
        continues: |_, _| false,
    };
    /// Texts of one line, such as records in a prompt. ASCII semicolons and tildes do not end a sentence.
    pub const LINE: Self = Self { ends: "。！？!?；…", closing: "。！？!?；….", ..Self::MESSAGE };
    /// Prose with quotations, abbreviations and addresses.
    pub const PROSE: Self = Self {
        ends: "。！？；…｡",
        ends_before_break: ".!?",
        is_break: |c| c.is_whitespace() || is_han(c),
        closing: "。！？；…!?.~～”’」』）】》)]\"'*_",
        continues: is_abbreviation,
    };

    /// Splits a text into its sentences. Each character belongs to exactly one of them.
    pub fn split<'t>(self, text: &'t str) -> impl Iterator<Item = Sentence<'t>> {
        let mut start = 0;
        std::iter::from_fn(move || {
            if start == text.len() {
                return None;
            }
            let mut characters = text[start..].char_indices().map(|(at, c)| (start + at, c));
            let found = characters.find_map(|(at, c)| Some((at, self.end_after(text, start, at, c)?)));
            let (mark, end) = found.unwrap_or((text.len(), text.len()));
            let sentence = Sentence { start, body: &text[start..mark], text: &text[start..end] };
            start = end;
            Some(sentence)
        })
    }

    /// Returns the sentences that contain a letter or a digit, with their marks and without surrounding white space.
    pub fn texts(self, text: &str) -> impl Iterator<Item = &str> {
        let texts = self.split(text).map(|sentence| sentence.text.trim());
        texts.filter(|sentence| sentence.contains(char::is_alphanumeric))
    }

    /// Returns the end of the sentence from byte `start` on that the character `c` at byte `at` ends. `None` if it ends
    /// none.
    fn end_after(&self, text: &str, start: usize, at: usize, c: char) -> Option<usize> {
        let after = at + c.len_utf8();
        if matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}') {
            return Some(after);
        }
        if !self.ends.contains(c) && !self.ends_before_break.contains(c) {
            return None;
        }
        let rest = text[after..].trim_start_matches(|c| self.closing.contains(c));
        let end = text.len() - rest.len();
        let next = rest.chars().next();
        if self.ends.contains(c) {
            return Some(end);
        }
        // Asked only at a break, because it may read the whole sentence up to here. A full stop before another mark or
        // a quotation mark is not that of an abbreviation.
        let continues = || c == '.' && end == after && (self.continues)(&text[start..at], next);
        (next.is_none_or(self.is_break) && !continues()).then_some(end)
    }
}

/// Returns the sentences of prose as byte ranges, in order and without surrounding white space.
///
/// A sentence ends after `。！？；…`, and after `. ! ?` if white space, a Chinese character or the end of the text follows.
/// Closing quotes and brackets after the mark belong to it. A line break ends a sentence too, so that a list item or a
/// heading is a sentence of its own. The dots of `Dr.`, `e.g.`, `3.14`, `J. Smith` and `example.com` end no sentence. A
/// fenced code block is one sentence. Each character other than white space belongs to exactly one sentence.
///
/// ```
/// let text = "他说：“好！”然后走了。Dr. Li paid 3.50 yuan. Why?";
/// let found: Vec<&str> = memory_engine_text::sentences(text).into_iter().map(|range| &text[range]).collect();
/// assert_eq!(found, ["他说：“好！”", "然后走了。", "Dr. Li paid 3.50 yuan.", "Why?"]);
/// ```
pub fn sentences(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    for block in fenced_blocks(text) {
        split_prose(text, at..block.range.start, &mut found);
        push_trimmed(text, block.range.clone(), &mut found);
        at = block.range.end;
    }
    split_prose(text, at..text.len(), &mut found);
    found
}

/// Adds a range without the white space at its ends, unless it is blank.
fn push_trimmed(text: &str, range: Range<usize>, found: &mut Vec<Range<usize>>) {
    let part = &text[range.clone()];
    let begin = range.start + (part.len() - part.trim_start().len());
    let end = range.start + part.trim_end().len();
    if begin < end {
        found.push(begin..end);
    }
}

/// Splits text outside of code blocks.
fn split_prose(text: &str, range: Range<usize>, found: &mut Vec<Range<usize>>) {
    for sentence in SentenceRules::PROSE.split(&text[range.clone()]) {
        let start = range.start + sentence.start;
        push_trimmed(text, start..start + sentence.text.len(), found);
    }
}

/// Returns true if the full stop after this text is that of an initial, of an abbreviation, or of a list number.
fn is_abbreviation(before: &str, next: Option<char>) -> bool {
    let word = before.rsplit(|c: char| c.is_whitespace() || matches!(c, '(' | '"' | '“')).next().unwrap_or_default();
    let is_initial = word.chars().count() == 1 && word.chars().all(|c| c.is_ascii_uppercase()) && word != "I";
    // A number at the beginning of a sentence is taken for that of a list item.
    let is_list_number = !word.is_empty() && word.chars().all(|c| c.is_ascii_digit()) && before.trim() == word;
    let is_abbreviation = DATA.abbreviations.iter().any(|known| word.eq_ignore_ascii_case(known));
    next.is_some_and(|c| c != '\n') && (is_initial || is_list_number || is_abbreviation)
}

#[cfg(test)]
mod tests;
