//! The contract.

use std::{fmt::Debug, sync::Arc};

use async_trait::async_trait;
use memory_engine_core::{Embedding, EmbeddingSpace, Filter, Hit, Record, RecordId, Result, Scope};

use crate::GenerationStore;

/// Keeps one vector for each record and finds the nearest ones. Takes vectors, never text: no store owns a model.
///
/// # Cancel safety
/// Dropping a future either leaves the call undone or lets it finish unseen; never half of it.
#[async_trait]
pub trait VectorStore: Debug + Send + Sync + 'static {
    /// The space of every vector in it.
    fn space(&self) -> &EmbeddingSpace;

    /// Keeps a vector for each record, in place of an earlier one; all or none.
    ///
    /// A store that lives in the same database as the records skips an entry whose record is not there any more, or is
    /// no longer active or has been written again since: what was deleted does not come back.
    ///
    /// # Errors
    /// `DimensionMismatch` for a vector of another space; `Unauthorized` for a record outside `scope`.
    async fn upsert(&self, scope: &Scope, entries: &[VectorEntry]) -> Result<()>;

    /// Removes the vectors of these records, and counts them; those that are not there, or not within `scope`, do not matter.
    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<u64>;

    /// The records nearest to the query within `scope`: best first, equal ones by id, as many as there are up to
    /// `limit`, whatever the filter leaves. Cosine scores lie between −1 and 1.
    ///
    /// # Errors
    /// `DimensionMismatch` for a query of another space; `InvalidInput` for a filter that fails [`Filter::validate`].
    async fn search(&self, scope: &Scope, query: &VectorQuery) -> Result<Vec<Hit>>;

    /// The store as one whose embedder can be changed while it is in use; `None`, unless it says otherwise.
    fn generations(&self) -> Option<&dyn GenerationStore> {
        None
    }
}

const _: fn(&dyn VectorStore) = |_| {};

/// A vector and the record it stands for.
#[derive(Debug, Clone)]
pub struct VectorEntry {
    /// The record, for its id, its address and the fields that a filter may ask for.
    pub record: Arc<Record>,
    /// Its vector.
    pub embedding: Embedding,
}

/// What to look for.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct VectorQuery {
    /// Near to this.
    pub embedding: Embedding,
    /// Only these.
    pub filter: Option<Filter>,
    /// How many at the most.
    pub limit: usize,
}

impl VectorQuery {
    /// The `limit` nearest.
    pub fn new(embedding: Embedding, limit: usize) -> Self {
        Self { embedding, filter: None, limit }
    }

    /// Only those that match.
    #[must_use]
    pub fn with_filter(mut self, filter: Option<Filter>) -> Self {
        self.filter = filter;
        self
    }
}

macro_rules! forward {
    ($($pointer:ident),*) => {$(
        #[async_trait]
        #[deny(clippy::missing_trait_methods)]
        impl<T: VectorStore + ?Sized> VectorStore for $pointer<T> {
            fn space(&self) -> &EmbeddingSpace {
                (**self).space()
            }
            async fn upsert(&self, scope: &Scope, entries: &[VectorEntry]) -> Result<()> {
                (**self).upsert(scope, entries).await
            }
            async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<u64> {
                (**self).delete(scope, ids).await
            }
            async fn search(&self, scope: &Scope, query: &VectorQuery) -> Result<Vec<Hit>> {
                (**self).search(scope, query).await
            }
            fn generations(&self) -> Option<&dyn GenerationStore> {
                (**self).generations()
            }
        }
    )*};
}

forward!(Arc, Box);
