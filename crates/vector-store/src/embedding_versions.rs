//! Changing the embedder while a store is in use.

use memory_engine_core::{Error, enum_names};
use serde::Serialize;

/// The role of a generation (an embedding version) in its database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GenerationRole {
    /// Searches use it.
    Serving,
    /// It is being filled, or it served before the last cut-over and is kept up to date.
    Second,
}

enum_names! {
    GenerationRole, "role" {
        Serving => "serving",
        Second => "second",
    }
}

/// The generations of vectors in a database. The numbers are totals over all tenants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Generations {
    /// Number of records that need a vector.
    pub records: u64,
    /// The generation used by searches.
    pub serving: Generation,
    /// The other generation, if there are two.
    pub second: Option<Generation>,
}

impl Generations {
    /// Creates the description of a database with one generation.
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

/// One generation of vectors: all vectors of one embedding space.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Generation {
    /// The space of its vectors.
    pub space: String,
    /// Number of vectors in it.
    pub vectors: u64,
    /// Number of records queued for a vector.
    pub waiting: u64,
    /// Number of records whose embedding job is a dead letter.
    pub given_up: u64,
}

impl Generation {
    /// Creates a generation without vectors and without queued records.
    pub fn new(space: impl Into<String>) -> Self {
        Self { space: space.into(), vectors: 0, waiting: 0, given_up: 0 }
    }
}
