//! The contracts of vector stores.

use std::{fmt::Debug, sync::Arc};

use async_trait::async_trait;
use memory_engine_core::{
    Embedding, EmbeddingSpace, Filter, FoundRecord, Hit, MultiVector, Record, RecordId, Result, Scope,
};

use crate::embedding_versions::{EmbeddingVersionRole, EmbeddingVersions};

/// Stores one vector for each record, and finds the nearest ones. A store takes vectors, never text; it has no model.
///
/// # Cancel safety
/// If a future is dropped, the call has either no effect or its full effect.
#[async_trait]
pub trait VectorStore: Debug + Send + Sync + 'static {
    /// Returns the embedding space of all its vectors.
    fn space(&self) -> &EmbeddingSpace;

    /// Stores the vector of each record, in place of an earlier one. If the call fails, none is stored.
    ///
    /// A store in the database of the records skips an entry if its record was deleted, became inactive or was written
    /// again since, so that no vector of a deleted record is stored.
    ///
    /// # Errors
    /// `DimensionMismatch` for a vector of another space; `Unauthorized` for a record outside `scope`.
    async fn upsert(&self, scope: &Scope, entries: &[VectorEntry]) -> Result<()>;

    /// Removes the vectors of those of these records that are within `scope`. Returns their number.
    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<u64>;

    /// Returns the records within `scope` that match the filter and are nearest to the query: best first, equal scores
    /// by id, at most [`limit`](VectorQuery::limit). Cosine scores are between −1 and 1.
    ///
    /// # Errors
    /// `DimensionMismatch` for a query of another space; `InvalidInput` for a filter that fails [`Filter::validate`].
    async fn search(&self, scope: &Scope, query: &VectorQuery) -> Result<Vec<Hit>>;

    /// As [`search`](Self::search), and reads the records and terms of the hits in the same transaction. Returns `None`
    /// if the store is not the store of the records. Default: `None`.
    ///
    /// # Errors
    /// As [`search`](Self::search).
    async fn search_records(&self, scope: &Scope, query: &VectorQuery) -> Result<Option<Vec<FoundRecord>>> {
        let _ = (scope, query);
        Ok(None)
    }

    /// Returns the token vectors of these records, in the same order. `None` for a record outside `scope`, for one
    /// without a vector, and for one whose model has no token vectors. Default: `None` for all.
    ///
    /// # Errors
    /// `Corrupt` for token vectors that cannot be decoded; the error of the store.
    async fn token_vectors(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<MultiVector>>> {
        let _ = scope;
        Ok(vec![None; ids.len()])
    }

    /// Loads the index that the first search would load, so that the first search is as fast as later ones. Default:
    /// does nothing.
    async fn warm_up(&self) -> Result<()> {
        Ok(())
    }

    /// Returns the store as a [`EmbeddingVersionStore`], if its embedder can be changed while it is in use. Default:
    /// `None`.
    fn embedding_versions(&self) -> Option<&dyn EmbeddingVersionStore> {
        None
    }
}

const _: fn(&dyn VectorStore) = |_| {};

/// The vector of a record.
#[derive(Debug, Clone)]
pub struct VectorEntry {
    /// The record: its id, its address, and the fields that a filter can compare.
    pub record: Arc<Record>,
    /// Its vector.
    pub embedding: Embedding,
    /// The vectors of its tokens, if the model has token vectors.
    pub tokens: Option<MultiVector>,
}

impl VectorEntry {
    /// Creates an entry without vectors of tokens.
    pub fn new(record: Arc<Record>, embedding: Embedding) -> Self {
        Self { record, embedding, tokens: None }
    }

    /// Sets the vectors of the tokens.
    #[must_use]
    pub fn with_tokens(mut self, tokens: Option<MultiVector>) -> Self {
        self.tokens = tokens;
        self
    }
}

/// A search for the nearest vectors.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct VectorQuery {
    /// The vector to which the hits are near.
    pub embedding: Embedding,
    /// The condition on the hits. Default: none.
    pub filter: Option<Filter>,
    /// Maximum number of hits.
    pub limit: usize,
}

impl VectorQuery {
    /// Creates a search for the `limit` nearest vectors, without a filter.
    pub fn new(embedding: Embedding, limit: usize) -> Self {
        Self { embedding, filter: None, limit }
    }

    /// Sets the filter.
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
            async fn search_records(&self, scope: &Scope, query: &VectorQuery) -> Result<Option<Vec<FoundRecord>>> {
                (**self).search_records(scope, query).await
            }
            async fn token_vectors(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<MultiVector>>> {
                (**self).token_vectors(scope, ids).await
            }
            async fn warm_up(&self) -> Result<()> {
                (**self).warm_up().await
            }
            fn embedding_versions(&self) -> Option<&dyn EmbeddingVersionStore> {
                (**self).embedding_versions()
            }
        }
    )*};
}

forward!(Arc, Box);

/// A vector store that can hold a second version of the vectors, in another space, next to the serving one.
///
/// Only a backend with vectors, records and queue in one database can implement it. While there is a second
/// embedding version, every record that is queued for `Embedding` is also queued for `Reembedding`, and a deleted
/// record is removed from both embedding versions. Each handle works in its own [`space`](VectorStore::space): it
/// writes into the embedding version of that space, and searches only if that embedding version is serving.
///
/// # Cancel safety
/// If a future is dropped, the call has either no effect or its full effect.
#[async_trait]
pub trait EmbeddingVersionStore: Debug + Send + Sync + 'static {
    /// Returns a handle to the same database in another space, which may have no vectors yet.
    fn in_space(&self, space: EmbeddingSpace) -> Arc<dyn VectorStore>;

    /// Returns the role of the embedding version of this space in the database.
    ///
    /// # Errors
    /// `SchemaMismatch` if there is none.
    async fn role(&self) -> Result<EmbeddingVersionRole>;

    /// Returns the embedding versions, with the numbers of their vectors and queued records.
    async fn embedding_versions(&self) -> Result<EmbeddingVersions>;

    /// Starts a second embedding version in this space, or continues with it: queues every record that has no vector in
    /// it, including dead letters. Returns the number of queued records; 0 if this space serves.
    ///
    /// # Errors
    /// `SchemaMismatch` if there is a second embedding version of another space, which must be dropped first.
    async fn begin(&self) -> Result<u64>;

    /// Cuts over to the embedding version of this space in one transaction, if no record is queued for it and it has at
    /// most `max_missing` dead letters. The other embedding version becomes the second one, and is kept up to date
    /// until it is [dropped](Self::drop_second). Returns true if this space serves now.
    ///
    /// # Errors
    /// As [`role`](Self::role).
    async fn switch(&self, max_missing: u64) -> Result<bool>;

    /// Removes the embedding version that does not serve, complete or not. Returns its space; `None` if there was none.
    async fn drop_second(&self) -> Result<Option<String>>;
}

const _: fn(&dyn EmbeddingVersionStore) = |_| {};
