//! The contract.

use std::{fmt::Debug, sync::Arc};

use async_trait::async_trait;
use memory_engine_core::{Record, RecordId, RemovalCounts, Result, Scope};
use serde::Serialize;

use crate::{extraction::Extraction, query::GraphQuery, subgraph::Subgraph};

/// Keeps what each record says about entities and relations, and walks along them.
///
/// All data belong to the records that state them. An entity or relation is visible to readers that see a record
/// which states it, has the names that these records give it, and disappears with the last of them. Two sessions,
/// branches or users see of one name only what their own records state.
///
/// The order of every answer, and how other names are put together, is [`Walk`](crate::Walk)'s: every backend gives
/// the same.
///
/// # Cancel safety
/// Dropping a future either leaves the call undone or lets it finish unseen; never half of it.
#[async_trait]
pub trait GraphStore: Debug + Send + Sync + 'static {
    /// Keeps what each record says, in place of what it said before; all or none. The same again changes nothing, and
    /// an empty extraction takes back what was said.
    ///
    /// A store that lives in the same database as the records skips an entry whose record is not there any more, or is
    /// no longer active or has been written again since: what was deleted does not come back.
    ///
    /// # Errors
    /// `Unauthorized` for a record outside `scope`; `InvalidInput` for an extraction that fails
    /// [`Extraction::validate`].
    async fn upsert(&self, scope: &Scope, entries: &[GraphEntry]) -> Result<()>;

    /// Removes what these records say, and counts it; those that say nothing, or are not within `scope`, do not matter.
    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<RemovalCounts>;

    /// Returns the neighbourhood of some entities, according to the records within `scope`.
    ///
    /// A scope without a user is walked user by user, and what is found is given together.
    ///
    /// # Errors
    /// `InvalidInput` for a query that fails [`GraphQuery::validate`].
    async fn expand(&self, scope: &Scope, query: &GraphQuery) -> Result<Subgraph>;

    /// Counts what the records within `scope` say.
    async fn stats(&self, scope: &Scope) -> Result<GraphStats>;

    /// Removes all that the records within `scope` say.
    async fn clear(&self, scope: &Scope) -> Result<()>;
}

const _: fn(&dyn GraphStore) = |_| {};

/// The extraction of one record.
#[derive(Debug, Clone)]
pub struct GraphEntry {
    /// The record, for its id, its address, its time and validity, and the fields that a filter may ask for.
    pub record: Arc<Record>,
    /// The extraction.
    pub extraction: Extraction,
}

impl GraphEntry {
    /// That this record says this.
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

/// Walks that are asked for often.
#[async_trait]
pub trait GraphStoreExt: GraphStore {
    /// Returns the entities with these names or aliases. Unknown ones are left out.
    ///
    /// # Errors
    /// As [`GraphStore::expand`].
    async fn entities(&self, scope: &Scope, names: &[&str]) -> Result<Subgraph> {
        self.expand(scope, &GraphQuery::of(names.iter().copied()).with_hops(0)).await
    }

    /// The entities of this name with all that they are directly related to.
    ///
    /// # Errors
    /// As [`GraphStore::expand`].
    async fn neighbors(&self, scope: &Scope, name: &str) -> Result<Subgraph> {
        self.expand(scope, &GraphQuery::of([name])).await
    }
}

impl<T: GraphStore + ?Sized> GraphStoreExt for T {}
