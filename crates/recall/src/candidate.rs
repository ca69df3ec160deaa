//! A record on its way through the recall.

use std::cmp::Ordering;

use memory_engine_core::{RecordId, Score};
use memory_engine_reranker::{Fused, Place};

use crate::{Arm, Found};

/// A record that was found, by its id.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) id: RecordId,
    pub(crate) score: f64,
    pub(crate) found_by: Vec<Found>,
    pub(crate) reranked: Option<Score>,
    /// How well the question's words fit by themselves, where the keyword arm's score holds more than these.
    pub(crate) words: Option<f64>,
    /// How near its vector is, or could be at the most: one that is not among the nearest is no nearer than the last of
    /// them. `None`, when that cannot be told.
    pub(crate) near: Option<f64>,
}

impl Candidate {
    pub(crate) fn of(fused: Fused) -> Self {
        let places = [Arm::Keyword, Arm::Vector, Arm::Graph].into_iter().zip(&fused.places);
        let found = |(arm, place): (Arm, &Option<Place>)| {
            place.map(|place| Found { arm, rank: place.rank, score: place.score })
        };
        let (score, found_by) = (fused.score.value(), places.filter_map(found).collect());
        Self { id: fused.id, score, found_by, reranked: None, words: None, near: None }
    }

    pub(crate) fn best_first(a: &Self, b: &Self) -> Ordering {
        Score::new(b.score).cmp(&Score::new(a.score)).then(a.id.cmp(&b.id))
    }
}
