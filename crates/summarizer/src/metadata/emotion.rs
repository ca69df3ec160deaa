//! Detects emotions by words.

use memory_engine_core::{phrases::stands_alone, text::normalize};
use memory_engine_text::{Words, sentences};
use serde::Deserialize;

use crate::data::data;

/// Words for emotions, by the names of the emotions.
///
/// Negated joy counts as sadness ("不开心", "not very happy"). Other negated emotions are ignored ("don't worry", "别难过"),
/// and so are those that are wished, asked for, or another person's ("生日快乐", "你开心吗", "she is angry").
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Emotions(Vec<(String, Vec<String>)>);

/// Joy, and the emotion that negated joy shows.
const HAPPY: &str = "开心";
const SAD: &str = "难过";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FeelingWords {
    name: String,
    words: Words,
}

data! {
    DATA = "zh/emotions.toml", "en/emotions.toml";
    Vec<FeelingWords>: feelings;
    Words: denials, intensifiers, orders, wishes, me, others, you, missing, questions;
}

impl Default for Emotions {
    fn default() -> Self {
        let feelings = DATA.feelings.iter();
        feelings.fold(Self(Vec::new()), |all, feeling| all.with(&feeling.name, &feeling.words))
    }
}

impl Emotions {
    /// Adds words for an emotion, or a new emotion.
    fn with(mut self, name: &str, words: &Words) -> Self {
        let words = words.iter().map(normalize);
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => known.extend(words),
            None => self.0.push((name.to_owned(), words.collect())),
        }
        self
    }

    /// Returns the names of the emotions.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Returns the emotion that a text shows most often; on a tie, the later one. `None` if it shows none.
    pub(super) fn of(&self, text: &str) -> Option<&str> {
        let clauses = sentences(text).into_iter().flat_map(|range| text[range].split(['，', ',', '；', ';']));
        let mut counts: Vec<(&str, usize, usize)> = Vec::new();
        for (position, clause) in clauses.enumerate() {
            let folded = normalize(clause).replace('’', "'");
            for name in self.emotions_in(&folded) {
                match counts.iter_mut().find(|(known, ..)| *known == name) {
                    Some((_, count, last)) => {
                        *count += 1;
                        *last = position;
                    }
                    None => counts.push((name, 1, position)),
                }
            }
        }
        counts.into_iter().max_by_key(|(_, count, last)| (*count, *last)).map(|(name, ..)| name)
    }

    /// Returns the emotions that a folded clause shows.
    fn emotions_in(&self, clause: &str) -> Vec<&str> {
        if contains_any_word(clause, &DATA.wishes) || is_about_others(clause) {
            return Vec::new();
        }
        let shown = self.0.iter().filter_map(|(name, words)| {
            let at = words.iter().find_map(|word| word_position(clause, word))?;
            let before = without_intensifiers(&clause[..at]);
            let is_denied = DATA.denials.iter().any(|denial| ends_with_word(before, denial));
            match (is_denied, name.as_str()) {
                (false, name) => Some(name),
                (true, HAPPY) if !is_order(before) => Some(SAD),
                (true, _) => None,
            }
        });
        shown.collect()
    }
}

/// Returns the first position at which a word is not part of another word.
fn word_position(clause: &str, word: &str) -> Option<usize> {
    clause.match_indices(word).map(|(at, _)| at).find(|at| stands_alone(clause, *at, at + word.len()))
}

fn contains_any_word(clause: &str, words: &Words) -> bool {
    words.iter().any(|word| word_position(clause, word).is_some())
}

fn without_intensifiers(before: &str) -> &str {
    DATA.intensifiers
        .iter()
        .fold(before.trim_end(), |before, word| before.strip_suffix(word).map_or(before, str::trim_end))
}

fn ends_with_word(text: &str, word: &str) -> bool {
    text.ends_with(word) && (word.starts_with("n't") || stands_alone(text, text.len() - word.len(), text.len()))
}

/// Returns true if a denial is an order to another: "别太开心", "don't be so happy".
fn is_order(before: &str) -> bool {
    DATA.orders.any_ends(before) || before.trim_start().starts_with("don't")
}

/// Returns true if a clause is about the emotions of other people.
fn is_about_others(clause: &str) -> bool {
    if contains_any_word(clause, &DATA.me) || contains_any_word(clause, &DATA.missing) {
        return false;
    }
    let is_question = clause.trim_end().ends_with(['?', '？', '吗', '呢']) || DATA.questions.any_in(clause);
    // In 你让我很开心, the emotion is that of the speaker.
    let is_about_listener = contains_any_word(clause, &DATA.you) && (is_question || !clause.contains("你让"));
    is_about_listener || contains_any_word(clause, &DATA.others)
}

#[cfg(test)]
mod tests;
