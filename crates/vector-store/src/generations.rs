//! Changing the embedder while a store is in use.

use std::{fmt::Debug, sync::Arc};

use async_trait::async_trait;
use memory_engine_core::{EmbeddingSpace, Result};
use serde::Serialize;

use crate::VectorStore;

/// A vector store that can hold vectors of a second space beside those that it is searched by.
///
/// Only a backend that keeps vectors, records and queue in one database can be one. While there is a second generation, whatever
/// is queued for an `Embedding` is queued for a `Reembedding` too, and a record that goes is taken out of both. Each handle works
/// in its own [`space`](VectorStore::space): it writes into the generation of that space, and searches only while that one
/// serves.
///
/// # Cancel safety
/// Dropping a future either leaves the call undone or lets it finish unseen; never half of it.
#[async_trait]
pub trait GenerationStore: Debug + Send + Sync + 'static {
    /// The same database, seen in another space. It need not have vectors of that space.
    fn beside(&self, space: EmbeddingSpace) -> Arc<dyn VectorStore>;

    /// What the generation of this space is to the database.
    ///
    /// # Errors
    /// `SchemaMismatch` when there is none.
    async fn role(&self) -> Result<Role>;

    /// Which generations there are, and how full each is.
    async fn generations(&self) -> Result<Generations>;

    /// Begins a second generation of this space, or goes on with one: queues every record that has no vector in it, those that
    /// were given up among them. Gives how many wait; 0 when this space serves.
    ///
    /// # Errors
    /// `SchemaMismatch` when there is a second generation of a third space: it has to be dropped first.
    async fn begin(&self) -> Result<u64>;

    /// Has the generation of this space serve from now on, in one transaction, if nothing waits for it and no more than
    /// `lacking` records were given up for it. The other one is the second from then on, and is kept up until it is
    /// [dropped](Self::drop_second). Whether this space serves now.
    ///
    /// # Errors
    /// As [`role`](Self::role).
    async fn switch(&self, lacking: u64) -> Result<bool>;

    /// Removes the generation that does not serve, full or not, and gives its space; `None` when there was none.
    async fn drop_second(&self) -> Result<Option<String>>;
}

const _: fn(&dyn GenerationStore) = |_| {};

/// What a generation of vectors is to its database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Searches go by it.
    Serving,
    /// It is being filled, or kept.
    Second,
}

/// The generations of vectors in a database, all tenants together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Generations {
    /// How many records ought to have a vector.
    pub records: u64,
    /// The one that searches go by.
    pub serving: Generation,
    /// The other one.
    pub second: Option<Generation>,
}

impl Generations {
    /// A database with a single one.
    pub fn new(records: u64, serving: Generation) -> Self {
        Self { records, serving, second: None }
    }

    /// And another one beside it.
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
    /// How many it holds.
    pub vectors: u64,
    /// How many records wait for theirs.
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
