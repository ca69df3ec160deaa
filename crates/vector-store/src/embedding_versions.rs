//! Changing the embedder while a store is in use.
//!
//! Reasons: `docs/design/decisions/0033-two-embedding-versions-in-two-tables.md`.

use memory_engine_core::{Error, enum_names};
use serde::Serialize;

/// The role of an embedding version in its database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EmbeddingVersionRole {
    /// Searches use it.
    Serving,
    /// It is being filled, or it served before the last cut-over and is kept up to date.
    Second,
}

enum_names! {
    EmbeddingVersionRole, "role" {
        Serving => "serving",
        Second => "second",
    }
}

/// The versions of the vectors in a database. The numbers are totals over all tenants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct EmbeddingVersions {
    /// Number of records that need a vector.
    pub records: u64,
    /// The embedding version used by searches.
    pub serving: EmbeddingVersion,
    /// The other embedding version, if there are two.
    pub second: Option<EmbeddingVersion>,
}

impl EmbeddingVersions {
    /// Creates the description of a database with one embedding version.
    pub fn new(records: u64, serving: EmbeddingVersion) -> Self {
        Self { records, serving, second: None }
    }

    /// Sets the second embedding version.
    #[must_use]
    pub fn with_second(mut self, second: Option<EmbeddingVersion>) -> Self {
        self.second = second;
        self
    }
}

/// One version of the vectors: all vectors of one embedding space.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct EmbeddingVersion {
    /// The space of its vectors.
    pub space: String,
    /// Number of vectors in it.
    pub vectors: u64,
    /// Number of records queued for a vector.
    pub waiting: u64,
    /// Number of records whose embedding job is a dead letter.
    pub dead_letters: u64,
}

impl EmbeddingVersion {
    /// Creates an embedding version without vectors and without queued records.
    pub fn new(space: impl Into<String>) -> Self {
        Self { space: space.into(), vectors: 0, waiting: 0, dead_letters: 0 }
    }
}
