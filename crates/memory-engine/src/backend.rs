//! The stores that a builder opens.

use std::{path::PathBuf, sync::Arc};

#[cfg(not(all(feature = "sqlite", feature = "postgres")))]
use memory_engine_core::{Error, ErrorKind};
use memory_engine_core::{JobQueue, MemoryRecordStore, RecordStore, Result};
#[cfg(any(feature = "sqlite", feature = "postgres"))]
use memory_engine_graph::GraphStore;
use memory_engine_graph::MemoryGraphStore;
use memory_engine_indexing::Stores;
use memory_engine_keyword_store::{KeywordStore, MemoryKeywordStore};
use memory_engine_sql::options::StoreOptions;
use memory_engine_synonyms::{MemorySynonymStore, SynonymStore};
use memory_engine_vector_store::{MemoryVectorStore, VectorStore};

use crate::database::Address;

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

/// The stores of a backend.
pub(crate) struct OpenStores {
    pub(crate) stores: Stores,
    pub(crate) synonyms: Arc<dyn SynonymStore>,
}

impl Backend {
    /// Opens the stores. Those in memory use the clock and the space of the options; `page_cache` is the size of SQLite's page
    /// caches in bytes.
    pub(crate) async fn open(self, options: StoreOptions, page_cache: Option<usize>) -> Result<OpenStores> {
        match self {
            Self::Memory => {
                let records = Arc::new(MemoryRecordStore::with_clock(options.clock));
                let vectors = Arc::new(MemoryVectorStore::new(options.space));
                let keywords = Arc::new(MemoryKeywordStore::new());
                Ok(OpenStores::with_graph_in_memory(records.clone(), records, keywords, vectors))
            }
            Self::Stores { records, jobs, keywords, vectors } => {
                Ok(OpenStores::with_graph_in_memory(records, jobs, keywords, vectors))
            }
            Self::Sqlite(path) => open_sqlite(path, options, page_cache).await,
            Self::Postgres(Address(url)) => open_postgres(&url, options).await,
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
async fn open_sqlite(path: PathBuf, options: StoreOptions, page_cache: Option<usize>) -> Result<OpenStores> {
    let mut options = memory_engine_sqlite::SqliteOptions::from(options);
    options.cache_bytes = page_cache.unwrap_or(options.cache_bytes);
    Ok(OpenStores::of(Arc::new(memory_engine_sqlite::SqliteStore::open(path, options).await?)))
}

#[cfg(not(feature = "sqlite"))]
async fn open_sqlite(_: PathBuf, _: StoreOptions, _: Option<usize>) -> Result<OpenStores> {
    Err(Error::new(ErrorKind::Unsupported, "build", "the feature `sqlite` is off; switch it on"))
}

#[cfg(feature = "postgres")]
async fn open_postgres(url: &str, options: StoreOptions) -> Result<OpenStores> {
    crate::runtime::check_network("build")?;
    Ok(OpenStores::of(Arc::new(memory_engine_postgres::PostgresStore::connect(url, options.into()).await?)))
}

#[cfg(not(feature = "postgres"))]
async fn open_postgres(_: &str, _: StoreOptions) -> Result<OpenStores> {
    Err(Error::new(ErrorKind::Unsupported, "build", "the feature `postgres` is off; switch it on"))
}
