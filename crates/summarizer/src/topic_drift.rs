//! Detects a change of topic in a conversation (topic drift).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::turn::WindowTurn;

/// Detects a change of topic: several consecutive turns differ from the turns before them.
///
/// A turn drifts if the cosine of its vector and the mean vector of the window is below `far`. Without vectors, it
/// drifts if the share of its words that occur in the window is below `far_words`. A single drifting turn changes
/// nothing. After `patience` consecutive drifting turns, the first of them begins the new topic.
///
/// The two thresholds of each measure give hysteresis: once a turn drifts, the following ones drift until the
/// similarity reaches `near` (or `near_words`).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct TopicDrift {
    /// A turn drifts if its cosine is below this value. It depends on the model. Default: 0.78, which suits the e5
    /// family, whose cosines are high.
    pub far: f64,
    /// A turn does not drift if its cosine is at least this value. Default: 0.84.
    pub near: f64,
    /// A turn drifts if the share of its words that the window contains is below this value, 0 to 1. Default: 0.08.
    pub far_words: f64,
    /// A turn does not drift if that share is at least this value, 0 to 1. Default: 0.2.
    pub near_words: f64,
    /// Number of consecutive drifting turns after which the topic has changed, at least 1. Default: 3.
    pub patience: usize,
    /// Minimum number of turns before them, at least 1. Default: 4.
    pub least_turns: usize,
}

impl Default for TopicDrift {
    fn default() -> Self {
        Self { far: 0.78, near: 0.84, far_words: 0.08, near_words: 0.2, patience: 3, least_turns: 4 }
    }
}

impl TopicDrift {
    memory_engine_core::setters! {
        #![must_use]
        /// Sets the number of consecutive drifting turns, at least 1.
        with_patience(patience: usize) => patience = patience.max(1);
        /// Sets the minimum number of turns before them, at least 1.
        with_least_turns(least_turns: usize) => least_turns = least_turns.max(1);
    }

    /// Returns true if the next turn leaves the topic of the window.
    pub(crate) fn drifts(&self, window: &[WindowTurn], next: &WindowTurn) -> bool {
        let on_topic = || window.iter().filter(|turn| !turn.is_drifting);
        let previous_drifts = window.last().is_some_and(|last| last.is_drifting);
        if on_topic().count() < self.least_turns {
            return false;
        }
        let vectors: Vec<&[f32]> = on_topic().filter_map(|turn| turn.embedding.as_deref()).collect();
        match next.embedding.as_deref().and_then(|vector| cosine_to_mean(vector, &vectors)) {
            Some(cosine) => is_below(cosine, self.far, self.near, previous_drifts),
            None => {
                let window_words: BTreeSet<&String> = on_topic().flat_map(|turn| &turn.terms).collect();
                let words: BTreeSet<&String> = next.terms.iter().collect();
                // A few words are no evidence: "haha" fits any topic.
                if words.len() < TURN_MIN_WORDS || window_words.len() < WINDOW_MIN_WORDS {
                    return previous_drifts;
                }
                let shared = words.intersection(&window_words).count() as f64 / words.len().max(1) as f64;
                is_below(shared, self.far_words, self.near_words, previous_drifts)
            }
        }
    }

    /// Returns the index of the first turn of a new topic, once enough turns have drifted.
    pub(crate) fn new_topic_start(&self, window: &[WindowTurn]) -> Option<usize> {
        let run = window.iter().rev().take_while(|turn| turn.is_drifting).count();
        let first = window.len() - run;
        if run < self.patience.max(1) || first == 0 {
            return None;
        }
        let without_vectors = window[first..].iter().all(|turn| turn.embedding.is_none());
        (!without_vectors || share_words(&window[first..])).then_some(first)
    }
}

/// Minimum number of different words of a turn, and of the window, for a comparison by words.
const TURN_MIN_WORDS: usize = 5;
const WINDOW_MIN_WORDS: usize = 25;

/// Returns true if turns share a topic: at least two words occur in several of them. Small talk without recurring words
/// has no new topic.
fn share_words(turns: &[WindowTurn]) -> bool {
    let sets: Vec<BTreeSet<&String>> = turns.iter().map(|turn| turn.terms.iter().collect()).collect();
    let recurs = |word: &&&String| sets.iter().filter(|set| set.contains(**word)).count() > 1;
    let all: BTreeSet<&String> = sets.iter().flatten().copied().collect();
    turns.len() < 2 || all.iter().filter(recurs).count() >= 2
}

/// Applies the thresholds with hysteresis.
fn is_below(value: f64, far: f64, near: f64, previous_drifts: bool) -> bool {
    value < far || (value < near && previous_drifts)
}

/// Returns the cosine of a vector and the mean of others; `None` without others of the same number of dimensions.
fn cosine_to_mean(vector: &[f32], others: &[&[f32]]) -> Option<f64> {
    let comparable: Vec<&&[f32]> = others.iter().filter(|other| other.len() == vector.len()).collect();
    if comparable.is_empty() {
        return None;
    }
    let mean: Vec<f64> = (0..vector.len()).map(|n| comparable.iter().map(|other| f64::from(other[n])).sum()).collect();
    let dot: f64 = vector.iter().zip(&mean).map(|(a, b)| f64::from(*a) * b).sum();
    let vector_norm = vector.iter().map(|a| f64::from(*a).powi(2)).sum::<f64>().sqrt();
    let mean_norm = mean.iter().map(|b| b.powi(2)).sum::<f64>().sqrt();
    let norms = vector_norm * mean_norm;
    (norms > 0.0 && norms.is_finite()).then(|| dot / norms)
}
