//! The statements of a block, so that each stands in it once.

use std::collections::BTreeSet;

use jiff::civil::Date;
use memory_engine_core::text::normalize;
use memory_engine_text::SentenceRules;

/// Maximum number of characters of the name of a speaker before a sentence.
const MAX_LABEL_CHARS: usize = 40;
/// Minimum number of letters of a sentence that counts as a repetition: "Yes." stands in many texts.
const MIN_LETTERS: usize = 4;

/// The sentences that a reader has already seen, compared by their letters.
#[derive(Debug, Clone, Default)]
pub struct Statements {
    seen: BTreeSet<String>,
}

impl Statements {
    /// Adds the sentences of a text.
    pub fn add(&mut self, text: &str) {
        for sentence in SentenceRules::LINE.split(text) {
            self.seen.extend(keys(sentence.text));
        }
    }

    /// Returns the text without the sentences that are known already, and adds its own. `None` if all are known.
    pub fn new_part(&mut self, text: &str) -> Option<String> {
        let is_new = |sentence: &str| keys(sentence).iter().all(|key| !self.seen.contains(key));
        let rest = kept_sentences(SentenceRules::LINE.split(text).map(|s| (s.text, is_new(s.text))));
        self.add(text);
        rest.chars().any(char::is_alphanumeric).then_some(rest)
    }
}

/// Returns a summary that is made of sentences of a dialogue without its dates and without what the model said: the
/// memory already has a date, and replies say little about the user. Other summaries stay as they are.
pub fn without_replies(summary: &str) -> String {
    let mut is_reply = false;
    kept_sentences(SentenceRules::LINE.split(summary).map(|sentence| {
        let undated = match sentence.text.trim_start().strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
            Some((date, rest)) if date.parse::<Date>().is_ok() => rest,
            _ => sentence.text,
        };
        let label = undated.split_once(": ").or_else(|| undated.split_once('：'));
        let said = match label.map(|(label, said)| (label.trim(), said)) {
            Some(("Assistant" | "助手", said)) => {
                is_reply = true;
                said
            }
            Some(("User" | "用户", said)) => {
                is_reply = false;
                said
            }
            // Another person, whose name stays.
            Some((name, _)) if !name.contains(char::is_whitespace) => {
                is_reply = false;
                undated
            }
            Some(_) | None => undated,
        };
        (said, !is_reply)
    }))
}

/// Joins the sentences that are kept, with an ellipsis where others were between them.
fn kept_sentences<'t>(sentences: impl Iterator<Item = (&'t str, bool)>) -> String {
    let mut kept = String::new();
    let mut has_gap = false;
    for (sentence, is_kept) in sentences {
        if !is_kept {
            has_gap = true;
            continue;
        }
        if !kept.is_empty() {
            // Chinese sentences follow each other without a blank.
            let blank = if kept.ends_with(|c: char| c.is_ascii()) { " " } else { "" };
            kept.push_str(if has_gap { " … " } else { blank });
        }
        kept.push_str(sentence.trim());
        has_gap = false;
    }
    kept
}

/// Returns the letters of a sentence, also without the name of a speaker before it.
fn keys(sentence: &str) -> Vec<String> {
    let unlabelled = sentence.split_once([':', '：']).filter(|(label, _)| label.chars().count() <= MAX_LABEL_CHARS);
    let texts = [Some(sentence), unlabelled.map(|(_, rest)| rest)];
    let letters = |text: &str| normalize(text).chars().filter(|c| c.is_alphanumeric()).collect::<String>();
    texts.into_iter().flatten().map(letters).filter(|key| key.chars().count() >= MIN_LETTERS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_new_once_whoever_says_it() {
        let mut statements = Statements::default();
        assert_eq!(statements.new_part("I live in Porto.").as_deref(), Some("I live in Porto."));
        assert_eq!(statements.new_part("Maggie: I live in Porto. She has a cat."), Some("She has a cat.".into()));
        assert_eq!(statements.new_part("i live in PORTO!"), None);
        assert_eq!(statements.new_part("我住在苏州。我养了一只猫。"), Some("我住在苏州。我养了一只猫。".into()));
        assert_eq!(statements.new_part("用户：我养了一只猫"), None);
    }

    #[test]
    fn a_summary_of_sentences_loses_its_dates_and_the_replies() {
        let summary = "[2026-03-01] User: I run a mill. It is old. Assistant: Lovely! How old? Ann: Very old. \
                       [2026-03-02] 助手：好的。 用户：我养蜂。";
        assert_eq!(without_replies(summary), "I run a mill. It is old. … Ann: Very old. … 我养蜂。");
        let prose = "They spoke about the mill: it is old.";
        assert_eq!(without_replies(prose), prose);
    }

    #[test]
    fn short_answers_are_no_repetitions() {
        let mut statements = Statements::default();
        assert_eq!(statements.new_part("Yes."), Some("Yes.".into()));
        assert_eq!(statements.new_part("Yes."), Some("Yes.".into()));
    }
}
