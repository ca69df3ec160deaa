//! The explanation of a recall.

use std::fmt;

use memory_engine_core::{RecordId, State, Timestamp};
use serde::Serialize;

use crate::hit::{Degraded, RecallHit};

/// The place of a record in the result of a query, or the reason of its absence.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Explanation {
    /// The reason.
    pub verdict: Verdict,
    /// The record with everything that made its score; `None` if no retriever found it.
    pub hit: Option<RecallHit>,
    /// Stages that did not take part: one of them may be the reason.
    pub degraded: Vec<Degraded>,
}

/// The outcome of a recall for one record. `Display` writes it as a sentence.
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
        /// Its state.
        state: State,
    },
    /// Its validity has ended at the time of the question.
    Ended {
        /// The end of its validity.
        valid_until: Timestamp,
    },
    /// It was not a current memory at the time of the question.
    NotThen {
        /// The time as of which the question was asked.
        as_of: Timestamp,
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
    /// No retriever found it, nor a neighbor of it.
    NotFound {
        /// Maximum number of candidates per retriever. In JSON `pool`.
        #[serde(rename = "pool")]
        max_candidates: usize,
    },
    /// It was found, but enough others were better.
    BelowTheCut {
        /// Its place, from 1.
        place: usize,
        /// Maximum number of hits.
        limit: usize,
    },
    /// It repeats a better hit.
    Repeats {
        /// That hit.
        id: RecordId,
    },
}

impl Verdict {
    /// The name, such as `not_found`. `Display` writes a sentence.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Hit { .. } => "hit",
            Self::NotThere => "not_there",
            Self::NotActive { .. } => "not_active",
            Self::Ended { .. } => "ended",
            Self::NotThen { .. } => "not_then",
            Self::Filtered => "filtered",
            Self::OutOfSight { .. } => "out_of_sight",
            Self::NotFound { .. } => "not_found",
            Self::BelowTheCut { .. } => "below_the_cut",
            Self::Repeats { .. } => "repeats",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hit { place } => write!(f, "it is hit {place}"),
            Self::NotThere => f.write_str("there is no such record within the scope"),
            Self::NotActive { state } => write!(f, "it is {}, and only active records are found", state.as_str()),
            Self::Ended { valid_until } => write!(f, "it was valid until {valid_until}, before the question"),
            Self::NotThen { as_of } => write!(f, "it was not a current memory at {as_of}"),
            Self::Filtered => f.write_str("it does not match the filter"),
            Self::OutOfSight { from, scene } => {
                let scene = scene.as_deref().unwrap_or("no scene");
                write!(f, "it belongs to {scene}, which cannot be seen from {from}")
            }
            Self::NotFound { max_candidates } => {
                write!(f, "no retriever found it among its best {max_candidates}, nor a neighbor of it")
            }
            Self::BelowTheCut { place, limit } => write!(f, "it would be hit {place}, and {limit} are given"),
            Self::Repeats { id } => write!(f, "it only repeats {id}"),
        }
    }
}
