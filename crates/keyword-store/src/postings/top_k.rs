//! Collects the best documents of a search.

use std::{cmp::Ordering, collections::BinaryHeap};

use memory_engine_core::{RecordId, Score};

use super::document::Document;

/// Relative tolerance for comparing scores that were summed in different orders.
const ROUNDING_TOLERANCE: f64 = 1e-9;

/// Collects the `limit` best documents, and maintains the score that a document needs to be among them.
#[derive(Debug)]
pub(super) struct TopK {
    limit: usize,
    candidates: Vec<ScoredDocument>,
    /// Sum of term scores that at least `limit` documents reach. A document below it is not among the best.
    threshold: f64,
}

/// A document with its score. The document with the higher score is greater; of equal scores, the one with the smaller
/// id.
#[derive(Debug)]
pub(super) struct ScoredDocument {
    pub(super) score: Score,
    pub(super) id: RecordId,
    pub(super) number: i64,
    /// Sum of the term scores.
    sum: f64,
}

impl Ord for ScoredDocument {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.cmp(&other.score).then_with(|| (other.id, other.number).cmp(&(self.id, self.number)))
    }
}

impl PartialOrd for ScoredDocument {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ScoredDocument {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for ScoredDocument {}

impl TopK {
    /// Returns an empty collection for the best `limit` documents.
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, candidates: Vec::new(), threshold: f64::NEG_INFINITY }
    }

    /// Reserves memory for this many documents more.
    pub(super) fn reserve(&mut self, documents: usize) {
        self.candidates.reserve(documents.min(self.limit));
    }

    /// Maximum number of documents.
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// Returns true if a document whose sum is at most `upper_bound` cannot be among the best.
    #[inline]
    pub(super) fn cannot_enter(&self, upper_bound: f64) -> bool {
        upper_bound + ROUNDING_TOLERANCE * (1.0 + upper_bound.abs()) < self.threshold
    }

    /// Raises the threshold to a sum that at least `limit` documents reach.
    pub(super) fn raise_threshold(&mut self, sum: f64) {
        self.threshold = self.threshold.max(sum);
    }

    /// Adds a document by the sum of its term scores, unless it cannot be among the best.
    #[inline]
    pub(super) fn offer(&mut self, sum: f64, document: &Document, score: impl FnOnce() -> Score) {
        if self.limit == 0 || self.cannot_enter(sum) {
            return;
        }
        self.candidates.push(ScoredDocument { score: score(), id: document.id, number: document.number, sum });
        if self.candidates.len() >= self.limit.saturating_mul(4).max(64) {
            self.drop_worst();
        }
    }

    fn drop_worst(&mut self) {
        if self.candidates.len() <= self.limit {
            return;
        }
        self.candidates.select_nth_unstable_by(self.limit - 1, |a, b| b.cmp(a));
        self.candidates.truncate(self.limit);
        let worst = self.candidates.iter().map(|candidate| candidate.sum).fold(f64::INFINITY, f64::min);
        self.raise_threshold(worst);
    }

    /// Returns the documents as a heap, best first.
    pub(super) fn into_heap(self) -> BinaryHeap<ScoredDocument> {
        self.candidates.into()
    }
}
