//! Changing the embedder while a store is in use.

use memory_engine_core::{Error, enum_names};
use serde::Serialize;

/// The role of a version of the vectors in its database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GenerationRole {
    /// Searches use it.
    Serving,
    /// It is being filled, or kept for a way back.
    Second,
}

enum_names! {
    GenerationRole, "role" {
        Serving => "serving",
        Second => "second",
    }
}

/// The generations of vectors in a database, all tenants together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Generations {
    /// Number of records that need a vector.
    pub records: u64,
    /// The generation used by searches.
    pub serving: Generation,
    /// The other one.
    pub second: Option<Generation>,
}

impl Generations {
    /// A database with a single one.
    pub fn new(records: u64, serving: Generation) -> Self {
        Self { records, serving, second: None }
    }

    /// Sets the second generation.
    #[must_use]
    pub fn with_second(mut self, second: Option<Generation>) -> Self {
        self.second = second;
        self
    }
}

/// One generation of vectors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Generation {
    /// The space of its vectors.
    pub space: String,
    /// Number of vectors in it.
    pub vectors: u64,
    /// Number of records queued for a vector.
    pub waiting: u64,
    /// For how many it was given up.
    pub given_up: u64,
}

impl Generation {
    /// An empty one that nothing waits for.
    pub fn new(space: impl Into<String>) -> Self {
        Self { space: space.into(), vectors: 0, waiting: 0, given_up: 0 }
    }
}
