//! The stores that a builder opens.

use std::{path::PathBuf, sync::Arc};

use memory_engine_core::{Clock, EmbeddingSpace, JobQueue, MemoryRecordStore, RecordStore, Result};
#[cfg(not(all(feature = "sqlite", feature = "postgres")))]
use memory_engine_core::{Error, ErrorKind};
use memory_engine_graph::{GraphStore, MemoryGraphStore};
use memory_engine_indexing::Stores;
use memory_engine_keyword_store::{KeywordStore, MemoryKeywordStore};
use memory_engine_synonyms::{MemorySynonymStore, SynonymStore};
use memory_engine_vector_store::{MemoryVectorStore, VectorStore};

use crate::database::Address;

/// What happens if the indexes of a store are of another embedder or analyzer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mismatch {
    /// Fail with `SchemaMismatch`, naming both.
    #[default]
    Refuse,
    /// Open the store and leave its indexes as they are: records can be read, and whatever needs an index that does not
    /// match fails with `SchemaMismatch`.
    Leave,
    /// Begin a second generation of vectors next to those of the other embedder, or continue it. A process with the other
    /// embedder searches the old vectors until the new ones are complete; then the store cuts over. See
    /// [`MemoryEngine::change_over`](crate::MemoryEngine::change_over). A keyword index is emptied and queued to be built
    /// again. A store of the caller has to support it.
    Refill,
    /// Empty the indexes concerned and queue every record to be indexed again.
    Rebuild,
}

/// Where a builder stores everything.
#[derive(Debug, Default)]
pub(crate) enum Backend {
    #[default]
    Memory,
    #[cfg_attr(not(feature = "sqlite"), allow(dead_code, reason = "without the feature it is an error"))]
    Sqlite(PathBuf),
    #[cfg_attr(not(feature = "postgres"), allow(dead_code, reason = "without the feature it is an error"))]
    Postgres(Address),
    Stores {
        records: Arc<dyn RecordStore>,
        jobs: Arc<dyn JobQueue>,
        keywords: Arc<dyn KeywordStore>,
        vectors: Arc<dyn VectorStore>,
    },
}

/// What a store is opened with.
#[derive(Debug)]
#[cfg_attr(not(any(feature = "sqlite", feature = "postgres")), allow(dead_code, reason = "stores in memory need less"))]
pub(crate) struct StoreSettings {
    pub(crate) space: EmbeddingSpace,
    pub(crate) replaced: Option<EmbeddingSpace>,
    pub(crate) fingerprint: String,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) mismatch: Mismatch,
    pub(crate) page_cache: Option<usize>,
}

/// The stores of a backend.
pub(crate) struct OpenStores {
    pub(crate) stores: Stores,
    pub(crate) synonyms: Arc<dyn SynonymStore>,
}

impl Backend {
    pub(crate) async fn open(self, settings: StoreSettings) -> Result<OpenStores> {
        match self {
            Self::Memory => {
                let records = Arc::new(MemoryRecordStore::with_clock(settings.clock));
                let vectors = Arc::new(MemoryVectorStore::new(settings.space));
                let keywords = Arc::new(MemoryKeywordStore::new());
                Ok(OpenStores::with_graph_in_memory(records.clone(), records, keywords, vectors))
            }
            Self::Stores { records, jobs, keywords, vectors } => {
                Ok(OpenStores::with_graph_in_memory(records, jobs, keywords, vectors))
            }
            Self::Sqlite(path) => open_sqlite(path, settings).await,
            Self::Postgres(Address(url)) => open_postgres(&url, settings).await,
        }
    }
}

impl OpenStores {
    /// Synonyms and graph in memory.
    fn with_graph_in_memory(
        records: Arc<dyn RecordStore>,
        jobs: Arc<dyn JobQueue>,
        keywords: Arc<dyn KeywordStore>,
        vectors: Arc<dyn VectorStore>,
    ) -> Self {
        let graph = Arc::new(MemoryGraphStore::new());
        Self {
            stores: Stores { records, jobs, keywords, vectors, graph },
            synonyms: Arc::new(MemorySynonymStore::new()),
        }
    }

    /// Everything in one store.
    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    fn of<S>(store: Arc<S>) -> Self
    where
        S: RecordStore + JobQueue + KeywordStore + VectorStore + GraphStore + SynonymStore + 'static,
    {
        let stores = Stores {
            records: store.clone(),
            jobs: store.clone(),
            keywords: store.clone(),
            vectors: store.clone(),
            graph: store.clone(),
        };
        Self { stores, synonyms: store }
    }
}

#[cfg(feature = "sqlite")]
async fn open_sqlite(path: PathBuf, settings: StoreSettings) -> Result<OpenStores> {
    use memory_engine_sqlite::{Mismatch as OnMismatch, SqliteOptions, SqliteStore};
    let mismatch = match settings.mismatch {
        Mismatch::Refuse => OnMismatch::Refuse,
        Mismatch::Leave => OnMismatch::Leave,
        Mismatch::Refill => OnMismatch::Refill,
        Mismatch::Rebuild => OnMismatch::Rebuild,
    };
    let mut options =
        SqliteOptions::new(settings.space, settings.fingerprint).with_clock(settings.clock).with_mismatch(mismatch);
    options.replaced = settings.replaced;
    options.cache_bytes = settings.page_cache.unwrap_or(options.cache_bytes);
    Ok(OpenStores::of(Arc::new(SqliteStore::open(path, options).await?)))
}

#[cfg(not(feature = "sqlite"))]
async fn open_sqlite(_: PathBuf, _: StoreSettings) -> Result<OpenStores> {
    Err(Error::new(ErrorKind::Unsupported, "build", "the feature `sqlite` is off; switch it on"))
}

#[cfg(feature = "postgres")]
async fn open_postgres(url: &str, settings: StoreSettings) -> Result<OpenStores> {
    use memory_engine_postgres::{Mismatch as OnMismatch, PostgresOptions, PostgresStore};
    let mismatch = match settings.mismatch {
        Mismatch::Refuse => OnMismatch::Refuse,
        Mismatch::Leave => OnMismatch::Leave,
        Mismatch::Refill => OnMismatch::Refill,
        Mismatch::Rebuild => OnMismatch::Rebuild,
    };
    let mut options =
        PostgresOptions::new(settings.space, settings.fingerprint).with_clock(settings.clock).with_mismatch(mismatch);
    options.replaced = settings.replaced;
    Ok(OpenStores::of(Arc::new(PostgresStore::connect(url, options).await?)))
}

#[cfg(not(feature = "postgres"))]
async fn open_postgres(_: &str, _: StoreSettings) -> Result<OpenStores> {
    Err(Error::new(ErrorKind::Unsupported, "build", "the feature `postgres` is off; switch it on"))
}
