//! Feelings by their words.

use memory_engine_core::{phrases::stands_alone, text::normalize};
use serde::Deserialize;

use crate::{
    data::{Words, data},
    sentence::sentences,
};

/// Words for feelings, by the names of the feelings.
///
/// A negated joy is sadness ("不开心", "not very happy"). Any other negated feeling is none ("don't worry", "别难过"), and
/// so is one that is wished, asked for, or another person's ("生日快乐", "你开心吗", "she is angry").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Emotions(Vec<(String, Vec<String>)>);

/// The feeling that is denied, and the one that its denial shows.
const HAPPY: &str = "开心";
const SAD: &str = "难过";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Feeling {
    name: String,
    words: Words,
}

data! {
    DATA = "zh/emotions.toml", "en/emotions.toml";
    Vec<Feeling>: feelings;
    Words: denials, intensifiers, orders, wishes, me, others, you, missing, questions;
}

impl Default for Emotions {
    fn default() -> Self {
        let feelings = DATA.feelings.iter();
        feelings.fold(Self(Vec::new()), |all, feeling| all.with(&feeling.name, feeling.words.iter()))
    }
}

impl Emotions {
    /// More words for a feeling, or a feeling of the caller's own.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, words: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let (name, words) = (name.into(), words.into_iter().map(|word| normalize(&word.into())));
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => known.extend(words),
            None => self.0.push((name, words.collect())),
        }
        self
    }

    /// The names of the feelings.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// The feeling that a text shows most often, the later of two; nothing when it shows none.
    pub fn of(&self, text: &str) -> Option<&str> {
        let clauses = sentences(text).into_iter().flat_map(|range| text[range].split(['，', ',', '；', ';']));
        let mut counts: Vec<(&str, usize, usize)> = Vec::new();
        for (place, clause) in clauses.enumerate() {
            let folded = normalize(clause).replace('’', "'");
            for name in self.shown(&folded) {
                match counts.iter_mut().find(|(known, ..)| *known == name) {
                    Some((_, count, last)) => (*count, *last) = (*count + 1, place),
                    None => counts.push((name, 1, place)),
                }
            }
        }
        counts.into_iter().max_by_key(|(_, count, last)| (*count, *last)).map(|(name, ..)| name)
    }

    /// Returns the feelings that a folded clause shows.
    fn shown(&self, clause: &str) -> Vec<&str> {
        if holds_any(clause, &DATA.wishes) || is_of_others(clause) {
            return Vec::new();
        }
        let shown = self.0.iter().filter_map(|(name, words)| {
            let at = words.iter().find_map(|word| place_of(clause, word))?;
            let before = without_intensifiers(&clause[..at]);
            let denied = DATA.denials.iter().any(|denial| ends_with_word(before, denial));
            match (denied, name.as_str()) {
                (false, name) => Some(name),
                (true, HAPPY) if !is_order(before) => Some(SAD),
                (true, _) => None,
            }
        });
        shown.collect()
    }
}

/// Returns the place of a word that is no part of another.
fn place_of(clause: &str, word: &str) -> Option<usize> {
    clause.match_indices(word).map(|(at, _)| at).find(|at| stands_alone(clause, *at, at + word.len()))
}

fn holds_any(clause: &str, words: &Words) -> bool {
    words.iter().any(|word| place_of(clause, word).is_some())
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

fn is_of_others(clause: &str) -> bool {
    if holds_any(clause, &DATA.me) || holds_any(clause, &DATA.missing) {
        return false;
    }
    let asked = clause.trim_end().ends_with(['?', '？', '吗', '呢']) || DATA.questions.any_in(clause);
    let of_you = holds_any(clause, &DATA.you) && (asked || !clause.contains("你让"));
    of_you || holds_any(clause, &DATA.others)
}

#[cfg(test)]
mod tests;
