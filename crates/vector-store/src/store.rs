//! The contract.

use std::{fmt::Debug, sync::Arc};

use async_trait::async_trait;
use memory_engine_core::{Embedding, EmbeddingSpace, Filter, Hit, MultiVector, Record, RecordId, Result, Scope};

use crate::embedding_versions::{GenerationRole, Generations};

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

    /// Removes the vectors of these records, and counts them; those that are not there, or not within `scope`, do not
    /// matter.
    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<u64>;

    /// Returns the records within `scope` nearest to the query: best first, equal scores by id, up to `limit` of
    /// those that pass the filter. Cosine scores are between −1 and 1.
    ///
    /// # Errors
    /// `DimensionMismatch` for a query of another space; `InvalidInput` for a filter that fails [`Filter::validate`].
    async fn search(&self, scope: &Scope, query: &VectorQuery) -> Result<Vec<Hit>>;

    /// Returns the vectors of the tokens of these records, in the same order. `None` for a record outside `scope`, for one
    /// without a vector, and for one whose model offers none. Default: `None` for all.
    ///
    /// # Errors
    /// `Corrupt` if they cannot be read; the store's error.
    async fn token_vectors(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<MultiVector>>> {
        let _ = scope;
        Ok(vec![None; ids.len()])
    }

    /// Loads what the first search would load, so that the first search is as fast as later ones. Default: does
    /// nothing.
    async fn warm_up(&self) -> Result<()> {
        Ok(())
    }

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
    /// The vectors of its tokens, if the model offers them.
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
    /// Near to this.
    pub embedding: Embedding,
    /// Only these.
    pub filter: Option<Filter>,
    /// Maximum number of hits.
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
            async fn token_vectors(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<MultiVector>>> {
                (**self).token_vectors(scope, ids).await
            }
            async fn warm_up(&self) -> Result<()> {
                (**self).warm_up().await
            }
            fn generations(&self) -> Option<&dyn GenerationStore> {
                (**self).generations()
            }
        }
    )*};
}

forward!(Arc, Box);

/// A vector store that can hold vectors of a second space beside those that it is searched by.
///
/// Only a backend with vectors, records and queue in one database can implement it. While there is a second
/// generation, a record that is queued for `Embedding` is queued for `Reembedding` too, and a deleted record is
/// removed from both generations. Each handle works in its own [`space`](VectorStore::space): it writes into the
/// generation of that space, and searches only if that generation is serving.
///
/// # Cancel safety
/// Dropping a future either leaves the call undone or lets it finish unseen; never half of it.
#[async_trait]
pub trait GenerationStore: Debug + Send + Sync + 'static {
    /// Returns a handle to the same database in another space, which may have no vectors yet.
    fn beside(&self, space: EmbeddingSpace) -> Arc<dyn VectorStore>;

    /// Returns the role of the generation of this space in the database.
    ///
    /// # Errors
    /// `SchemaMismatch` when there is none.
    async fn role(&self) -> Result<GenerationRole>;

    /// Returns the generations and their fill levels.
    async fn generations(&self) -> Result<Generations>;

    /// Begins a second generation of this space, or goes on with one: queues every record that has no vector in it,
    /// those that were given up among them. Gives how many wait; 0 when this space serves.
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
