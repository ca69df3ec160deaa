//! Detects a change of topic in a conversation (topic drift).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::turn::WindowTurn;

/// Tells that the topic has changed: when several turns in a row are far from what was talked of before.
///
/// A turn is far when the cosine between its vector and the mean of the window's is below `far`, or, where there are
/// no vectors, when the share of its words that the window holds is below `far_words`. One turn aside is no change:
/// only after `patience` turns in a row, none of them near again, has the topic changed, with the first of them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct TopicDrift {
    /// Below it a vector is far; it depends on the model (0.78 suits the e5 family, whose cosines are high).
    pub far: f64,
    /// From it on a vector is near again; between the two a turn goes on with what the one before it did.
    pub near: f64,
    /// Below it a turn's words are far.
    pub far_words: f64,
    /// From it on a turn's words are near again.
    pub near_words: f64,
    /// Number of consecutive turns that must differ from the topic.
    pub patience: usize,
    /// Minimum number of turns before them.
    pub least_turns: usize,
}

impl Default for TopicDrift {
    fn default() -> Self {
        Self { far: 0.78, near: 0.84, far_words: 0.08, near_words: 0.2, patience: 3, least_turns: 4 }
    }
}

impl TopicDrift {
    /// Other bounds for vectors: below `far` they are far, from `near` on near again.
    #[must_use]
    pub fn with_bounds(mut self, far: f64, near: f64) -> Self {
        (self.far, self.near) = (far, near.max(far));
        self
    }

    /// Another number of turns in a row; at least one.
    #[must_use]
    pub fn with_patience(mut self, patience: usize) -> Self {
        self.patience = patience.max(1);
        self
    }

    /// Another number of turns before them; at least one.
    #[must_use]
    pub fn with_least_turns(mut self, least_turns: usize) -> Self {
        self.least_turns = least_turns.max(1);
        self
    }

    /// Returns true if the next turn leaves the topic of the window.
    pub(crate) fn drifts(&self, window: &[WindowTurn], next: &WindowTurn) -> bool {
        let settled = || window.iter().filter(|seen| !seen.drifting);
        let drifting = window.last().is_some_and(|last| last.drifting);
        if settled().count() < self.least_turns {
            return false;
        }
        let vectors: Vec<&[f32]> = settled().filter_map(|seen| seen.embedding.as_deref()).collect();
        match next.embedding.as_deref().and_then(|vector| cosine_to_mean(vector, &vectors)) {
            Some(cosine) => between(cosine, self.far, self.near, drifting),
            None => {
                let known: BTreeSet<&String> = settled().flat_map(|seen| &seen.terms).collect();
                let words: BTreeSet<&String> = next.terms.iter().collect();
                // A few words are no evidence: "haha" belongs to any topic.
                if words.len() < LEAST_WORDS || known.len() < LEAST_KNOWN {
                    return drifting;
                }
                let shared = words.intersection(&known).count() as f64 / words.len().max(1) as f64;
                between(shared, self.far_words, self.near_words, drifting)
            }
        }
    }

    /// The place of the first turn of a new topic, once that is clear.
    pub(crate) fn changed(&self, window: &[WindowTurn]) -> Option<usize> {
        let run = window.iter().rev().take_while(|seen| seen.drifting).count();
        let first = (run >= self.patience.max(1)).then(|| window.len() - run).filter(|first| *first > 0)?;
        let of_words = window[first..].iter().all(|seen| seen.embedding.is_none());
        (!of_words || hangs_together(&window[first..])).then_some(first)
    }
}

/// A turn of fewer words says nothing of its topic, nor does a window of fewer.
const LEAST_WORDS: usize = 5;
const LEAST_KNOWN: usize = 25;

/// Returns true if turns share a topic, that is, if some of their words recur. Small talk that wanders has no new
/// topic.
fn hangs_together(turns: &[WindowTurn]) -> bool {
    let sets: Vec<BTreeSet<&String>> = turns.iter().map(|seen| seen.terms.iter().collect()).collect();
    let again = |word: &&&String| sets.iter().filter(|set| set.contains(**word)).count() > 1;
    let all: BTreeSet<&String> = sets.iter().flatten().copied().collect();
    turns.len() < 2 || all.iter().filter(again).count() >= 2
}

fn between(value: f64, far: f64, near: f64, before: bool) -> bool {
    value < far || (value < near && before)
}

/// The cosine between a vector and the mean of others; nothing when there are none or they are of another space.
fn cosine_to_mean(vector: &[f32], others: &[&[f32]]) -> Option<f64> {
    let fitting: Vec<&&[f32]> = others.iter().filter(|other| other.len() == vector.len()).collect();
    if fitting.is_empty() {
        return None;
    }
    let mean: Vec<f64> = (0..vector.len()).map(|n| fitting.iter().map(|other| f64::from(other[n])).sum()).collect();
    let dot: f64 = vector.iter().zip(&mean).map(|(a, b)| f64::from(*a) * b).sum();
    let length = |squares: f64| squares.sqrt();
    let size =
        length(vector.iter().map(|a| f64::from(*a).powi(2)).sum()) * length(mean.iter().map(|b| b.powi(2)).sum());
    (size > 0.0 && size.is_finite()).then(|| dot / size)
}
