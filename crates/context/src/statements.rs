//! The statements of a block, so that each stands in it once.

use std::collections::BTreeSet;

use jiff::civil::Date;
use memory_engine_core::text::normalize;
use memory_engine_text::SentenceRules;

/// Minimum number of letters of a sentence that counts as a repetition: "Yes." stands in many texts.
const MIN_LETTERS: usize = 4;
/// The names of the user, and of the model, before the sentences of a summary.
const USER: [&str; 2] = ["User", "用户"];
const MODEL: [&str; 2] = ["Assistant", "助手"];

/// The sentences that a reader has already seen, compared by their letters.
#[derive(Debug, Clone, Default)]
pub struct Statements {
    seen: BTreeSet<String>,
    speakers: BTreeSet<String>,
}

impl Statements {
    /// Begins without a sentence. The name of a speaker before a sentence does not make it another one.
    pub fn with_speakers(speakers: BTreeSet<String>) -> Self {
        Self { seen: BTreeSet::new(), speakers }
    }

    /// Adds the sentences of a text.
    pub fn add(&mut self, text: &str) {
        for sentence in SentenceRules::LINE.split(text) {
            let key = self.key(sentence.text);
            self.seen.extend(key);
        }
    }

    /// Returns the text without the sentences that are known already, and adds its own. `None` if all are known.
    pub fn new_part(&mut self, text: &str) -> Option<String> {
        let mut sentences = Vec::new();
        for sentence in SentenceRules::LINE.split(text) {
            let is_new = self.key(sentence.text).is_none_or(|key| self.seen.insert(key));
            sentences.push((sentence.text, is_new));
        }
        let rest = kept_sentences(sentences.into_iter());
        rest.chars().any(char::is_alphanumeric).then_some(rest)
    }

    /// Returns the letters of a sentence without the name of its speaker; `None` if they are few.
    fn key(&self, sentence: &str) -> Option<String> {
        let unlabelled = sentence.split_once([':', '：']).filter(|(label, _)| {
            let name = label.rsplit(']').next().unwrap_or(label).trim();
            USER.contains(&name) || MODEL.contains(&name) || self.speakers.contains(name)
        });
        let text = unlabelled.map_or(sentence, |(_, rest)| rest);
        let letters: String = normalize(text).chars().filter(|c| c.is_alphanumeric()).collect();
        (letters.chars().count() >= MIN_LETTERS).then_some(letters)
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
            Some((name, said)) if MODEL.contains(&name) => {
                is_reply = true;
                said
            }
            Some((name, said)) if USER.contains(&name) => {
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
            let blank = if kept.ends_with(|c: char| c.is_ascii() || c == '…') { " " } else { "" };
            kept.push_str(if has_gap { " … " } else { blank });
        }
        kept.push_str(sentence.trim());
        has_gap = false;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_new_once_whoever_says_it() {
        let mut statements = Statements::with_speakers(["Maggie".to_owned()].into());
        assert_eq!(statements.new_part("I live in Porto.").as_deref(), Some("I live in Porto."));
        assert_eq!(statements.new_part("Maggie: I live in Porto. She has a cat."), Some("She has a cat.".into()));
        assert_eq!(statements.new_part("i live in PORTO!"), None);
        assert_eq!(statements.new_part("我住在苏州。我养了一只猫。"), Some("我住在苏州。我养了一只猫。".into()));
        assert_eq!(statements.new_part("用户：我养了一只猫"), None);
        assert_eq!(statements.new_part("It rained all day. It rained all day."), Some("It rained all day.".into()));
        assert_eq!(statements.new_part("Breakfast: two fried eggs."), Some("Breakfast: two fried eggs.".into()));
        assert_eq!(statements.new_part("Lunch: two fried eggs."), Some("Lunch: two fried eggs.".into()));
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
