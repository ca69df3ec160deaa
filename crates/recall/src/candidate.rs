//! A candidate of a recall.

use std::cmp::Ordering;

use memory_engine_core::{RecordId, Score};
use memory_engine_reranker::{Fused, RetrieverRank};

use crate::{
    hit::{Retriever, RetrieverHit},
    ranking_step::{HasRankTrace, StepRank},
};

/// A record that a retriever found, by its id.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) id: RecordId,
    pub(crate) score: f64,
    pub(crate) found_by: Vec<RetrieverHit>,
    pub(crate) reranked: Option<Score>,
    /// Keyword score of the query's words alone, if the keyword retriever's score also counts dates.
    pub(crate) word_score: Option<f64>,
    /// Similarity of its vector, or an upper bound: a record that is not among the nearest is at most as near as the
    /// last of them. `None` if there is no bound.
    pub(crate) similarity: Option<f64>,
    /// Its rank after each step, if the query asks for a trace.
    pub(crate) ranks: Vec<StepRank>,
}

impl HasRankTrace for Candidate {
    fn score(&self) -> Score {
        Score::new(self.score)
    }

    fn ranks(&mut self) -> &mut Vec<StepRank> {
        &mut self.ranks
    }
}

impl Candidate {
    pub(crate) fn of(fused: Fused) -> Self {
        let places = [Retriever::Keyword, Retriever::Vector, Retriever::Graph].into_iter().zip(&fused.places);
        let found = |(retriever, place): (Retriever, &Option<RetrieverRank>)| {
            place.map(|place| RetrieverHit { retriever, rank: place.rank, score: place.score })
        };
        let found_by = places.filter_map(found).collect();
        Self { score: fused.score.value(), found_by, ..Self::neighbor(fused.id) }
    }

    /// A record that only stands next to a candidate, without a score.
    pub(crate) fn neighbor(id: RecordId) -> Self {
        Self {
            id,
            score: 0.0,
            found_by: Vec::new(),
            reranked: None,
            word_score: None,
            similarity: None,
            ranks: Vec::new(),
        }
    }

    pub(crate) fn is_found_by_vector_only(&self) -> bool {
        self.found_by.iter().all(|found| found.retriever == Retriever::Vector)
    }

    pub(crate) fn best_first(a: &Self, b: &Self) -> Ordering {
        Score::new(b.score).cmp(&Score::new(a.score)).then(a.id.cmp(&b.id))
    }
}
