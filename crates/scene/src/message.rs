//! Splits a message into sentences, and separates plain text from speech, actions and asides.

use memory_engine_core::text::normalize;
use memory_engine_text::SentenceRules;
use serde::{Deserialize, Serialize};

/// The part of a message that a sentence belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MessagePart {
    /// Text outside of all marks.
    Plain,
    /// Text in parentheses or square brackets: an action in a story, or an aside.
    Paren,
    /// Text in double parentheses, by convention said out of character.
    DoubleParen,
    /// Text between asterisks: an action in a story.
    Action,
}

/// A sentence, normalised, with its closing punctuation.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Sentence {
    pub(crate) part: MessagePart,
    pub(crate) text: String,
}

/// A message without the speech in it.
#[derive(Debug, Default)]
pub(crate) struct Message {
    pub(crate) sentences: Vec<Sentence>,
    /// True if the message contains speech in quotation marks, an action, or a parenthesis.
    pub(crate) has_marks: bool,
}

/// Stands for speech in quotation marks, so that the text after it does not look like the start of a sentence.
const SPEECH: char = '"';
/// Opening and closing quotation marks.
const QUOTES: [(char, &str); 5] = [('“', "”"), ('"', "\""), ('「', "」"), ('『', "』"), ('«', "»")];
/// Opening and closing brackets.
const BRACKETS: [(char, &str); 3] = [('(', ")"), ('[', "]"), ('【', "】")];
/// The mark after an action.
const ACTION_END: &str = "*";

/// The closing marks that do not occur in the rest of a line. Each is searched for only once without success, so that
/// the time is linear for a line with many opening marks.
#[derive(Debug, Default)]
struct MissingMarks(Vec<&'static str>);

impl MissingMarks {
    /// Returns the position of a mark in `rest`, a part of the line that ends where the line ends.
    fn find(&mut self, rest: &str, mark: &'static str) -> Option<usize> {
        if self.0.contains(&mark) {
            return None;
        }
        let found = rest.find(mark);
        if found.is_none() {
            self.0.push(mark);
        }
        found
    }
}

impl Message {
    /// Parses a message.
    pub(crate) fn parse(text: &str) -> Self {
        let mut message = Self::default();
        let normalized = normalize(text).replace(['’', '‘'], "'");
        for line in normalized.lines() {
            message.parse_line(line);
        }
        message
    }

    fn parse_line(&mut self, line: &str) {
        let mut plain = String::new();
        let mut missing = MissingMarks::default();
        let mut rest = line;
        while let Some(first) = rest.chars().next() {
            let previous = plain.chars().next_back();
            let Some((part, inside, length)) = marked(rest, first, previous, &mut missing) else {
                plain.push(first);
                rest = &rest[first.len_utf8()..];
                continue;
            };
            self.has_marks = true;
            match part {
                Some(part) => {
                    self.push_sentences(MessagePart::Plain, &plain);
                    plain.clear();
                    self.push_sentences(part, inside);
                }
                None => plain.push(SPEECH),
            }
            rest = &rest[length..];
        }
        self.push_sentences(MessagePart::Plain, &plain);
    }

    fn push_sentences(&mut self, part: MessagePart, text: &str) {
        for sentence in SentenceRules::MESSAGE.texts(text) {
            let text = sentence.split_whitespace().collect::<Vec<_>>().join(" ");
            self.sentences.push(Sentence { part, text });
        }
    }
}

/// Returns the marked part at the start of `rest`: its kind (`None` for speech), its content, and its length in bytes
/// with the marks.
fn marked<'t>(
    rest: &'t str,
    first: char,
    previous: Option<char>,
    missing: &mut MissingMarks,
) -> Option<(Option<MessagePart>, &'t str, usize)> {
    if first == '*' {
        let is_inside_word = previous.is_some_and(|previous| previous.is_ascii_alphanumeric());
        return if is_inside_word { None } else { action(rest, missing) };
    }
    if let Some((_, close)) = QUOTES.iter().find(|(open, _)| *open == first) {
        let (inside, length) = enclosed(rest, first, close, missing)?;
        return Some((None, inside, length));
    }
    let (_, close) = BRACKETS.iter().find(|(open, _)| *open == first)?;
    let doubled = rest[first.len_utf8()..].strip_prefix('(').filter(|_| first == '(');
    if let Some(doubled) = doubled
        && let Some(end) = missing.find(doubled, "))")
    {
        return Some((Some(MessagePart::DoubleParen), &doubled[..end], end + 4));
    }
    let (inside, length) = enclosed(rest, first, close, missing)?;
    Some((Some(MessagePart::Paren), inside, length))
}

fn enclosed<'t>(
    rest: &'t str,
    open: char,
    close: &'static str,
    missing: &mut MissingMarks,
) -> Option<(&'t str, usize)> {
    let inside = &rest[open.len_utf8()..];
    let end = missing.find(inside, close)?;
    Some((&inside[..end], open.len_utf8() + end + close.len()))
}

/// Returns an action between runs of asterisks.
fn action<'t>(rest: &'t str, missing: &mut MissingMarks) -> Option<(Option<MessagePart>, &'t str, usize)> {
    if missing.0.contains(&ACTION_END) {
        return None;
    }
    let inside = rest.trim_start_matches('*');
    let open = rest.len() - inside.len();
    let end = missing.find(inside, ACTION_END)?;
    let content = &inside[..end];
    if content.trim().is_empty() {
        return None;
    }
    let close = inside[end..].len() - inside[end..].trim_start_matches('*').len();
    Some((Some(MessagePart::Action), content, open + end + close))
}

#[cfg(test)]
mod tests;
