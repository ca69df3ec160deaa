//! The ranks of candidates after each step of a recall, for queries that ask for them.

use memory_engine_core::{Error, Score, enum_names};
use serde::{Deserialize, Serialize};

/// A step of a recall after which its candidates have a new order. The ranks before the first step are those of the
/// retrievers, in [`RecallHit::found_by`](crate::RecallHit::found_by).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RankingStep {
    /// After the lists of the retrievers are fused and neighboring turns are added.
    Fused,
    /// After the candidates are ranked by their features.
    Ranked,
    /// After the reranker has judged the best of them. Missing without a reranker.
    Reranked,
    /// After boosts, such as those for the scene and for importance, have multiplied the scores.
    Boosted,
    /// After hits that repeat better ones were moved back, and statements of topics and updates were added. It is the
    /// order of the result. Missing if the candidates are not ranked by features; the order of the result is that of
    /// `Boosted` then.
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
    /// The score by which the step ordered the candidates. Scores of different steps cannot be compared.
    pub score: Score,
}

/// An item whose rank is recorded after each step.
pub(crate) trait HasRankTrace {
    /// Returns the score by which it is ordered now.
    fn score(&self) -> Score;

    fn ranks(&mut self) -> &mut Vec<StepRank>;
}

/// Records the rank of each candidate. `candidates` must be in the order after the step.
pub(crate) fn record_ranks<'c, T: HasRankTrace + 'c>(
    step: RankingStep,
    candidates: impl ExactSizeIterator<Item = &'c mut T>,
) {
    let of = candidates.len();
    for (candidate, rank) in candidates.zip(1..) {
        let score = candidate.score();
        candidate.ranks().push(StepRank { step, rank, of, score });
    }
}
