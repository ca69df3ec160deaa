//! The question before or after a pasted text.

use memory_engine_text::fenced_blocks;

use crate::{
    tokens::{EstimatedTokens, TokenCounter},
    weak_question::weak_question,
};

/// Minimum length of a message with a pasted text, in estimated tokens.
const MIN_MESSAGE_TOKENS: usize = 105;
/// Maximum length of the person's own paragraphs before a pasted text, and of those after it.
const MAX_OWN_BYTES: usize = 400;
/// Maximum number of lines of an own paragraph.
const MAX_OWN_LINES: usize = 3;
/// Minimum length of a pasted text, as a multiple of the question about it.
const MIN_PASTE_RATIO: usize = 3;
const QUESTION_MARKS: [char; 2] = ['?', '？'];

/// Returns what a person says before and after a text that they paste: the short paragraphs at the beginning and at the
/// end of a long message, or the questions among them. In a search, the words of a log or of an article would drown
/// them.
///
/// Returns `None` for a message without a pasted text, or if the own paragraphs name no topic ("what does this mean?").
///
/// ```
/// use memory_engine_context::question_around_paste;
///
/// let log = "2026-11-30 12:00:01 WARN worker-3 connection reset by peer, retrying\n".repeat(20);
/// let message = format!("{log}\nWhat was the name of my dentist?");
/// assert_eq!(question_around_paste(&message).as_deref(), Some("What was the name of my dentist?"));
/// assert_eq!(question_around_paste(&format!("这是什么？\n\n{log}")), None);
/// ```
pub fn question_around_paste(text: &str) -> Option<String> {
    if EstimatedTokens.count(text) < MIN_MESSAGE_TOKENS {
        return None;
    }
    let paragraphs = paragraphs(text);
    let before = count_own(paragraphs.iter());
    let after = count_own(paragraphs[before..].iter().rev());
    let (own_before, rest) = paragraphs.split_at(before);
    let (pasted, own_after) = rest.split_at(rest.len() - after);
    let pasted_bytes: usize = pasted.iter().map(|paragraph| paragraph.text.len()).sum();
    let own: Vec<&str> = own_before.iter().chain(own_after).map(|paragraph| paragraph.text).collect();
    let questions: Vec<&str> = own.iter().copied().filter(|text| text.ends_with(QUESTION_MARKS)).collect();
    let is_about_paste = |question: &String| {
        !question.is_empty() && pasted_bytes >= question.len() * MIN_PASTE_RATIO && !weak_question(question)
    };
    [questions, own].map(|texts| texts.join("\n")).into_iter().find(is_about_paste)
}

#[derive(Debug)]
struct Paragraph<'t> {
    text: &'t str,
    is_code: bool,
}

impl Paragraph<'_> {
    fn can_be_own(&self) -> bool {
        !self.is_code && !self.text.starts_with('>') && self.text.lines().count() <= MAX_OWN_LINES
    }
}

/// Returns the number of paragraphs before the first one that is pasted, within [`MAX_OWN_BYTES`] in total.
fn count_own<'t>(paragraphs: impl Iterator<Item = &'t Paragraph<'t>>) -> usize {
    let mut bytes = 0;
    let own = paragraphs.take_while(|paragraph| {
        bytes += paragraph.text.len();
        bytes <= MAX_OWN_BYTES && paragraph.can_be_own()
    });
    own.count()
}

/// Splits a text at empty lines, around blocks of code, after lines that end with a question mark, and before such
/// lines if a paste stands directly above them.
fn paragraphs(text: &str) -> Vec<Paragraph<'_>> {
    let mut paragraphs = Vec::new();
    let mut at = 0;
    for block in fenced_blocks(text) {
        split_prose(&text[at..block.range.start], &mut paragraphs);
        paragraphs.push(Paragraph { text: text[block.range.clone()].trim(), is_code: true });
        at = block.range.end;
    }
    split_prose(&text[at..], &mut paragraphs);
    paragraphs
}

fn split_prose<'t>(text: &'t str, paragraphs: &mut Vec<Paragraph<'t>>) {
    let mut add = |text: &'t str| {
        let text = text.trim();
        if !text.is_empty() {
            paragraphs.push(Paragraph { text, is_code: false });
        }
    };
    let (mut start, mut end) = (0, 0);
    for line in text.split_inclusive('\n') {
        let line_start = end;
        end += line.len();
        let content = line.trim();
        if content.is_empty() || content.ends_with(QUESTION_MARKS) {
            if text[start..line_start].trim().lines().count() > MAX_OWN_LINES {
                add(&text[start..line_start]);
                start = line_start;
            }
            add(&text[start..end]);
            start = end;
        }
    }
    add(&text[start..]);
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
            (format!("Which of the ports\ndoes koala use?\n\n{log}"), Some("Which of the ports\ndoes koala use?")),
            (format!("I moved the job.\n\n{log}\nwhere is it?"), Some("I moved the job.\nwhere is it?")),
            (format!("```\n{log}\n~~~\nwhat?\n```\n树袋熊在哪个端口？"), Some("树袋熊在哪个端口？")),
            (format!("```ls```\n\n{log}\nWhich port does koala use?"), Some("Which port does koala use?")),
            (format!("Restart koala as we agreed\n\n{log}"), Some("Restart koala as we agreed")),
            (log.clone(), None),
            (format!("> {log}\n> what?\n\n{log}"), None),
        ] {
            assert_eq!(question_around_paste(&message).as_deref(), question, "{message}");
        }
    }

    #[test]
    fn messages_without_a_paste_have_none() {
        assert_eq!(question_around_paste("Where is the lake house?\n\nWe were there."), None);
        assert_eq!(question_around_paste(""), None);
        let own = "We went to the lake house with Anna, and it rained the whole day.\n\n".repeat(6);
        assert_eq!(question_around_paste(&format!("{own}What do you think of the lake house?")), None);
    }
}
