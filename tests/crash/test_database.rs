//! The databases of the tests.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use async_trait::async_trait;
use memory_engine::{
    EnrichmentOptions, MemoryEngine, Result, Timestamp,
    embed::{Embedder, Embedding, EmbeddingSpace, HashEmbedder, Purpose},
    graph::{GraphStore, RuleExtractor},
    store::{JobQueue, RecordStore, StoreOptions, Stores, SynonymStore, TextAnalyzer, index_fingerprint},
    testing::ManualClock,
};
use memory_engine_keyword_store::KeywordStore;
use memory_engine_postgres::{PostgresOptions, PostgresStore, migrate_down};
use memory_engine_sqlite::SqliteStore;
use memory_engine_vector_store::VectorStore;

use crate::stopping::{Stop, StoppingStore};

/// Noon of a day in February 2026.
pub(crate) const NOON: i64 = 1_772_000_000_000_000;

/// A database that several processes open, one after the other.
pub(crate) struct TestDatabase {
    pub(crate) clock: Arc<ManualClock>,
    location: Location,
}

enum Location {
    /// The file, and its temporary folder if this process has created it.
    Sqlite(PathBuf, Option<tempfile::TempDir>),
    /// The server, and the schema.
    Postgres(String, String),
}

impl TestDatabase {
    fn new(location: Location) -> Self {
        Self { clock: Arc::new(ManualClock::new(Timestamp::from_micros(NOON))), location }
    }

    pub(crate) fn on_sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self::new(Location::Sqlite(folder.path().join("memory.db"), Some(folder)))
    }

    pub(crate) fn on_postgres(url: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let schema = format!("crash_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        Self::new(Location::Postgres(url.to_owned(), schema))
    }

    /// Returns the address by which another process opens it.
    pub(crate) fn address(&self) -> String {
        match &self.location {
            Location::Sqlite(path, _) => format!("file|{}", path.display()),
            Location::Postgres(url, schema) => format!("{schema}|{url}"),
        }
    }

    /// Returns the database with this address.
    pub(crate) fn at(address: &str) -> Self {
        let (schema, location) = address.split_once('|').unwrap();
        Self::new(match schema {
            "file" => Location::Sqlite(location.into(), None),
            schema => Location::Postgres(location.to_owned(), schema.to_owned()),
        })
    }

    /// Opens it without a background worker and with every kind of enrichment.
    pub(crate) async fn open(&self, stop: Option<Stop>) -> MemoryEngine {
        match &self.location {
            Location::Sqlite(path, _) => {
                self.engine(Arc::new(SqliteStore::open(path, self.store_options()).await.unwrap()), stop).await
            }
            Location::Postgres(url, schema) => {
                let store = PostgresStore::connect_with(url, self.store_options(), options(schema)).await.unwrap();
                self.engine(Arc::new(store), stop).await
            }
        }
    }

    async fn engine<S>(&self, store: Arc<S>, stop: Option<Stop>) -> MemoryEngine
    where
        S: RecordStore + JobQueue + KeywordStore + VectorStore + GraphStore + SynonymStore,
    {
        let mut stores = Stores::from(store.clone());
        if let Some(stop) = stop {
            let records = Arc::new(StoppingStore::new(store, stop));
            stores = Stores { records: records.clone(), jobs: records, ..stores };
        }
        MemoryEngine::builder()
            .stores(stores)
            .graph(RuleExtractor::default())
            .embedder(SmallBatchEmbedder(HashEmbedder::default()))
            .enrichment(EnrichmentOptions::rules().unwrap().with_profile(10))
            .clock(self.clock.clone())
            .background(false)
            .build()
            .await
            .unwrap()
    }

    fn store_options(&self) -> StoreOptions {
        StoreOptions::new(space(), index_fingerprint(&TextAnalyzer)).with_clock(self.clock.clone())
    }

    /// Returns the counts of the health report, after checking that it lists no problems.
    pub(crate) async fn counts(&self) -> BTreeMap<String, u64> {
        let health = match &self.location {
            Location::Sqlite(path, _) => {
                let path = path.clone();
                tokio::task::spawn_blocking(move || memory_engine_sqlite::check_health(&path)).await.unwrap().unwrap()
            }
            Location::Postgres(url, schema) => {
                memory_engine_postgres::check_health(url, &options(schema)).await.unwrap()
            }
        };
        assert_eq!(health.problems, Vec::<String>::new());
        health.counts
    }

    /// Removes the database.
    pub(crate) async fn remove(self) {
        match &self.location {
            Location::Postgres(url, schema) => migrate_down(url, &options(schema), 0).await.unwrap(),
            Location::Sqlite(_, folder) => assert!(folder.as_ref().is_some_and(|folder| folder.path().exists())),
        }
    }
}

fn space() -> EmbeddingSpace {
    HashEmbedder::default().space().clone()
}

/// The hash embedder with small batches, so that a job needs several.
#[derive(Debug)]
struct SmallBatchEmbedder(HashEmbedder);

#[async_trait]
impl Embedder for SmallBatchEmbedder {
    fn space(&self) -> &EmbeddingSpace {
        self.0.space()
    }
    fn max_batch(&self) -> usize {
        16
    }
    fn semantic_weight(&self) -> f64 {
        self.0.semantic_weight()
    }
    fn score_floor(&self) -> f64 {
        self.0.score_floor()
    }
    async fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Embedding>> {
        self.0.embed(texts, purpose).await
    }
}

fn options(schema: &str) -> PostgresOptions {
    PostgresOptions::default().with_schema(schema)
}
