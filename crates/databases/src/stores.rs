//! The stores of an engine, as one value.

use std::sync::Arc;

use memory_engine_core::{EmbeddingSpace, JobQueue, MemoryRecordStore, RecordStore};
use memory_engine_graph::{GraphStore, MemoryGraphStore};
use memory_engine_keyword_store::{KeywordStore, MemoryKeywordStore};
use memory_engine_synonyms::{MemorySynonymStore, SynonymStore};
use memory_engine_vector_store::{MemoryVectorStore, VectorStore};

/// Every store of an engine, for `Builder::stores`.
///
/// A value that implements [`RecordStore`], [`JobQueue`], [`KeywordStore`], [`VectorStore`], [`GraphStore`] and
/// [`SynonymStore`] converts into `Stores`; wrap it in an [`Arc`] to keep a handle on it. To mix stores, set every
/// field, or start from [`Stores::in_memory`].
///
/// ```
/// use std::sync::Arc;
/// use memory_engine::{
///     MemoryEngine, Scope,
///     embed::{Embedder, HashEmbedder},
///     store::{MemoryVectorStore, Stores},
/// };
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let embedder = HashEmbedder::default();
/// let vectors = Arc::new(MemoryVectorStore::new(embedder.space().clone())); // your own vector store
/// let stores = Stores { vectors, ..Stores::in_memory(embedder.space().clone()) };
/// let memory = MemoryEngine::builder().stores(stores).embedder(embedder).build().await?;
/// memory.remember(&Scope::user("lin")?, "I live in Porto.").await?;
/// # Ok::<(), memory_engine::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct Stores {
    /// The records.
    pub records: Arc<dyn RecordStore>,
    /// The queue of the background jobs. It has to return the jobs that `records` writes: it is the same value, or
    /// one over the same database.
    pub jobs: Arc<dyn JobQueue>,
    /// The keyword index.
    pub keywords: Arc<dyn KeywordStore>,
    /// The vectors. Their space has to be the embedder's.
    pub vectors: Arc<dyn VectorStore>,
    /// The entities and relations.
    pub graph: Arc<dyn GraphStore>,
    /// The groups of synonyms.
    pub synonyms: Arc<dyn SynonymStore>,
}

impl Stores {
    /// Returns stores in memory for vectors of this space, with the system's clock. Their contents end with the last
    /// handle.
    pub fn in_memory(space: EmbeddingSpace) -> Self {
        Self::in_memory_with(MemoryRecordStore::new(), space)
    }

    /// As [`in_memory`](Self::in_memory), with these records.
    pub fn in_memory_with(records: MemoryRecordStore, space: EmbeddingSpace) -> Self {
        let records = Arc::new(records);
        Self {
            records: records.clone(),
            jobs: records,
            keywords: Arc::new(MemoryKeywordStore::new()),
            vectors: Arc::new(MemoryVectorStore::new(space)),
            graph: Arc::new(MemoryGraphStore::new()),
            synonyms: Arc::new(MemorySynonymStore::new()),
        }
    }
}

impl<S> From<S> for Stores
where
    S: RecordStore + JobQueue + KeywordStore + VectorStore + GraphStore + SynonymStore,
{
    fn from(store: S) -> Self {
        let store = Arc::new(store);
        Self {
            records: store.clone(),
            jobs: store.clone(),
            keywords: store.clone(),
            vectors: store.clone(),
            graph: store.clone(),
            synonyms: store,
        }
    }
}
