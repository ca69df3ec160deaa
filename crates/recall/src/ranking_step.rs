//! The ranks of candidates after each step of a recall, for queries that ask for them.

use memory_engine_core::{Error, Score, enum_names};
use serde::{Deserialize, Serialize};

use crate::{candidate::Candidate, hit::RecallHit};

/// A step of a recall after which its candidates have a new order. The ranks before the first step are those of the
/// retrievers, in [`RecallHit::found_by`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RankingStep {
    /// The lists of the retrievers are fused, and neighbors are added.
    Fused,
    /// Features rank the candidates.
    Ranked,
    /// The reranker has judged the best of them. Missing without a reranker.
    Reranked,
    /// Boosts have multiplied the scores.
    Boosted,
    /// Diversity has moved hits that repeat better ones. It is the order of the result.
    Selected,
}

enum_names! {
    RankingStep, "ranking step" {
        Fused => "fused",
        Ranked => "ranked",
        Reranked => "reranked",
        Boosted => "boosted",
        Selected => "selected",
    }
}

/// The rank of a candidate after a step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct StepRank {
    /// The step.
    pub step: RankingStep,
    /// The rank, from 1.
    pub rank: usize,
    /// Number of candidates after this step.
    pub of: usize,
    /// The score by which the step ordered the candidates.
    pub score: Score,
}

/// Something with a score and a list of ranks.
pub(crate) trait Traced {
    /// Returns the score by which it is ordered now.
    fn score(&self) -> Score;

    fn ranks(&mut self) -> &mut Vec<StepRank>;
}

impl Traced for Candidate {
    fn score(&self) -> Score {
        Score::new(self.score)
    }

    fn ranks(&mut self) -> &mut Vec<StepRank> {
        &mut self.ranks
    }
}

impl Traced for RecallHit {
    fn score(&self) -> Score {
        self.score
    }

    fn ranks(&mut self) -> &mut Vec<StepRank> {
        &mut self.ranks
    }
}

/// Adds the present rank to each candidate. They are given in their order after the step.
pub(crate) fn note_ranks<'c, T: Traced + 'c>(step: RankingStep, candidates: impl ExactSizeIterator<Item = &'c mut T>) {
    let of = candidates.len();
    for (candidate, rank) in candidates.zip(1..) {
        let score = candidate.score();
        candidate.ranks().push(StepRank { step, rank, of, score });
    }
}
