//! The question beside a pasted text.

use crate::{
    tokens::{EstimatedTokens, TokenCounter},
    weak_question::weak_question,
};

/// Minimum length of a message with a pasted text, in estimated tokens.
const MIN_MESSAGE_TOKENS: usize = 105;
/// Maximum length of what is said before a pasted text, and of what is said after it.
const MAX_SAID_BYTES: usize = 400;
const MAX_SAID_LINES: usize = 3;
/// Minimum length of a pasted text, as a multiple of what is said about it.
const MIN_PASTED_SHARE: usize = 3;
const FENCES: [&str; 2] = ["```", "~~~"];

/// Returns what a person says before and after a text that they paste: the short paragraphs at the begin and at the end
/// of a long message, or the questions among them. In a search, the words of a log or of an article would drown them.
///
/// Returns `None` for a message without a pasted text, or if what is said names no topic ("what does this mean?").
///
/// ```
/// use memory_engine_context::question_beside_paste;
///
/// let log = "2026-11-30 12:00:01 WARN worker-3 connection reset by peer, retrying\n".repeat(20);
/// let message = format!("{log}\nWhat was the name of my dentist?");
/// assert_eq!(question_beside_paste(&message).as_deref(), Some("What was the name of my dentist?"));
/// assert_eq!(question_beside_paste(&format!("这是什么？\n\n{log}")), None);
/// ```
pub fn question_beside_paste(text: &str) -> Option<String> {
    if EstimatedTokens.count(text) < MIN_MESSAGE_TOKENS {
        return None;
    }
    let paragraphs = paragraphs(text);
    let before = count_said(paragraphs.iter());
    let after = count_said(paragraphs.iter().skip(before).rev());
    let said: Vec<&Paragraph<'_>> =
        paragraphs[..before].iter().chain(&paragraphs[paragraphs.len() - after..]).collect();
    let questions: Vec<&Paragraph<'_>> = said.iter().copied().filter(|said| said.is_question()).collect();
    let is_beside_paste = |question: &String| {
        !question.is_empty() && text.len() >= question.len() * (1 + MIN_PASTED_SHARE) && !weak_question(question)
    };
    [questions, said].map(|said| joined(&said)).into_iter().find(is_beside_paste)
}

fn joined(paragraphs: &[&Paragraph<'_>]) -> String {
    paragraphs.iter().map(|paragraph| paragraph.text).collect::<Vec<_>>().join("\n")
}

#[derive(Debug)]
struct Paragraph<'t> {
    text: &'t str,
    is_code: bool,
}

impl Paragraph<'_> {
    fn is_question(&self) -> bool {
        self.text.ends_with(['?', '？'])
    }

    fn can_be_said(&self) -> bool {
        !self.is_code && !self.text.starts_with('>') && self.text.lines().count() <= MAX_SAID_LINES
    }
}

/// Returns the number of paragraphs before the first one that is pasted.
fn count_said<'t>(paragraphs: impl Iterator<Item = &'t Paragraph<'t>>) -> usize {
    let mut bytes = 0;
    let said = paragraphs.take_while(|paragraph| {
        bytes += paragraph.text.len();
        bytes <= MAX_SAID_BYTES && paragraph.can_be_said()
    });
    said.count()
}

/// Splits a text at empty lines, before and after blocks of code, and before and after lines that end with a question
/// mark: many questions stand directly above or below what is pasted.
fn paragraphs(text: &str) -> Vec<Paragraph<'_>> {
    let mut paragraphs = Vec::new();
    let mut add = |from: usize, to: usize, is_code: bool| {
        let text = text[from..to].trim();
        if !text.is_empty() {
            paragraphs.push(Paragraph { text, is_code });
        }
    };
    let (mut start, mut end, mut is_code) = (0, 0, false);
    for line in text.split_inclusive('\n') {
        let line_start = end;
        end += line.len();
        let content = line.trim();
        if FENCES.iter().any(|fence| content.starts_with(fence)) {
            // The closing fence belongs to the code.
            let split = if is_code { end } else { line_start };
            add(start, split, is_code);
            (start, is_code) = (split, !is_code);
        } else if !is_code && (content.is_empty() || content.ends_with(['?', '？'])) {
            add(start, line_start, false);
            add(line_start, end, false);
            start = end;
        }
    }
    add(start, end, is_code);
    paragraphs
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "12:00:01 WARN worker-3 connection reset by peer, retrying job 77\n";

    #[test]
    fn questions_are_found_on_both_sides() {
        let log = LOG.repeat(12);
        for (message, question) in [
            (format!("Which port does koala use?\n{log}"), Some("Which port does koala use?")),
            (format!("{log}Which port does koala use?"), Some("Which port does koala use?")),
            (format!("I moved the job.\n\n{log}\nwhere is it?"), Some("I moved the job.\nwhere is it?")),
            (format!("```\n{log}\n\nwhat?\n```\n树袋熊在哪个端口？"), Some("树袋熊在哪个端口？")),
            (format!("Restart koala as we agreed\n\n{log}"), Some("Restart koala as we agreed")),
            (log.clone(), None),
            (format!("> {log}\n> what?\n\n{log}"), None),
        ] {
            assert_eq!(question_beside_paste(&message).as_deref(), question, "{message}");
        }
    }

    #[test]
    fn short_messages_have_no_paste() {
        assert_eq!(question_beside_paste("Where is the lake house?\n\nWe were there."), None);
        assert_eq!(question_beside_paste(""), None);
    }
}
