//! Why a record is in an answer, or not.

use std::fmt;

use memory_engine_core::{RecordId, State};
use serde::Serialize;

use crate::{Degraded, RecallHit};

/// Why a record is where it is in the answer to a question, or why it is not there.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Explanation {
    /// The reason.
    pub verdict: Verdict,
    /// The record as the recall saw it, with everything that made its score; unless no arm found it.
    pub hit: Option<RecallHit>,
    /// What did not take part in the recall: it may have been the reason.
    pub degraded: Vec<Degraded>,
}

/// What became of a record in a recall.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Verdict {
    /// It is among the hits.
    Hit {
        /// Its place, from 1.
        place: usize,
    },
    /// There is no such record within the scope.
    NotThere,
    /// It is not active, and only active records are found.
    NotActive {
        /// What it is.
        state: State,
    },
    /// It does not match the question's filter.
    Filtered,
    /// Its scene cannot be seen from the scene of the question.
    OutOfSight {
        /// The scene of the question.
        from: String,
        /// The scene of the record, if it has one.
        scene: Option<String>,
    },
    /// No arm found it among its best, nor any neighbour of it.
    NotFound {
        /// How many each arm looks at.
        pool: usize,
    },
    /// It was found, but others were better.
    BelowTheCut {
        /// Its place, from 1.
        place: usize,
        /// How many hits are given.
        limit: usize,
    },
    /// It only repeats a better hit.
    Repeats {
        /// That hit.
        id: RecordId,
    },
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hit { place } => write!(f, "it is hit {place}"),
            Self::NotThere => f.write_str("there is no such record within the scope"),
            Self::NotActive { state } => write!(f, "it is {}, and only active records are found", state.as_str()),
            Self::Filtered => f.write_str("it does not match the filter"),
            Self::OutOfSight { from, scene } => {
                let scene = scene.as_deref().unwrap_or("no scene");
                write!(f, "it belongs to {scene}, which cannot be seen from {from}")
            }
            Self::NotFound { pool } => write!(f, "no arm found it among its best {pool}, nor a neighbour of it"),
            Self::BelowTheCut { place, limit } => write!(f, "it would be hit {place}, and {limit} are given"),
            Self::Repeats { id } => write!(f, "it only repeats {id}"),
        }
    }
}
