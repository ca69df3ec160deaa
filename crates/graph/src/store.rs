//! The contract of graph stores.

use std::{fmt::Debug, sync::Arc};

use async_trait::async_trait;
use memory_engine_core::{Record, RecordId, RemovalCounts, Result, Scope};
use serde::Serialize;

use crate::{extraction::Extraction, query::GraphQuery, subgraph::Subgraph};

/// Stores the entities and relations of records, and answers queries about them.
///
/// All data belong to the records that state them. A reader sees an entity or relation if a record within the reader's
/// scope states it. An entity has the names that these records give it, and disappears with the last of them.
///
/// [`Walk`](crate::Walk) defines the order of results and the merging of aliases, so that all backends return the same.
///
/// # Cancel safety
/// A call whose future is dropped has either no effect or its full effect, never a part of it.
#[async_trait]
pub trait GraphStore: Debug + Send + Sync + 'static {
    /// Stores the extraction of each record in place of its former one; all or none. Idempotent. An empty extraction
    /// removes the former one.
    ///
    /// A store in the same database as the records skips an entry whose record was deleted, is not active or has
    /// another revision, so that deleted data does not come back.
    ///
    /// # Errors
    /// `Unauthorized` for a record outside `scope`; `InvalidInput` for an extraction that fails
    /// [`Extraction::validate`].
    async fn upsert(&self, scope: &Scope, entries: &[GraphEntry]) -> Result<()>;

    /// Removes the extractions of these records, and returns the numbers of removed rows. Ignores records without an
    /// extraction and records outside `scope`.
    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<RemovalCounts>;

    /// Returns the neighbourhood of some entities, according to the records within `scope`.
    ///
    /// A scope without a user is walked user by user, and the results are [merged](Subgraph::merged).
    ///
    /// # Errors
    /// `InvalidInput` for a query that fails [`GraphQuery::validate`].
    async fn expand(&self, scope: &Scope, query: &GraphQuery) -> Result<Subgraph>;

    /// Returns the counts of the graph within `scope`.
    async fn stats(&self, scope: &Scope) -> Result<GraphStats>;

    /// Removes the extractions of all records within `scope`.
    async fn clear(&self, scope: &Scope) -> Result<()>;
}

const _: fn(&dyn GraphStore) = |_| {};

/// The extraction of one record.
#[derive(Debug, Clone)]
pub struct GraphEntry {
    /// The record, for its id, scope and times, and for the fields that a filter reads.
    pub record: Arc<Record>,
    /// The extraction.
    pub extraction: Extraction,
}

impl GraphEntry {
    /// Creates the entry of a record.
    pub fn new(record: impl Into<Arc<Record>>, extraction: Extraction) -> Self {
        Self { record: record.into(), extraction }
    }
}

/// Counts of a graph within a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct GraphStats {
    /// Number of names, before aliases are merged.
    pub entities: u64,
    /// Number of relations. Relations with the same ends and kind count once.
    pub edges: u64,
    /// Number of records with an extraction.
    pub records: u64,
}

impl GraphStats {
    /// Creates the counts.
    pub const fn new(entities: u64, edges: u64, records: u64) -> Self {
        Self { entities, edges, records }
    }
}

/// Shortcuts for common queries.
#[async_trait]
pub trait GraphStoreExt: GraphStore {
    /// Returns the entities with these names or aliases. Unknown ones are left out.
    ///
    /// # Errors
    /// As [`GraphStore::expand`].
    async fn entities(&self, scope: &Scope, names: &[&str]) -> Result<Subgraph> {
        self.expand(scope, &GraphQuery::of(names.iter().copied()).with_hops(0)).await
    }

    /// Returns the entities with this name, and the entities that are directly related to them.
    ///
    /// # Errors
    /// As [`GraphStore::expand`].
    async fn neighbors(&self, scope: &Scope, name: &str) -> Result<Subgraph> {
        self.expand(scope, &GraphQuery::of([name])).await
    }
}

impl<T: GraphStore + ?Sized> GraphStoreExt for T {}
