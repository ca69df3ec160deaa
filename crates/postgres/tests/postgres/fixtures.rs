//! Fixtures: databases, records and vectors for the tests.

use std::{
    env,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU32, Ordering},
    },
};

use libtest_mimic::Failed;
use memory_engine_core::{
    Embedding, EmbeddingSpace, Kind, Record, RecordStore, Scope, SystemClock, Terms, ViewSet, Write,
};
use memory_engine_keyword_store::{Clause, KeywordQuery, KeywordStore};
use memory_engine_postgres::{PostgresOptions, PostgresStore, StoreOptions, install_views};
use memory_engine_vector_store::{VectorEntry, VectorQuery, VectorStore};
use sqlx::{AssertSqlSafe, Connection, PgConnection, postgres::PgConnectOptions};
use tokio::runtime::Runtime;

pub(crate) const DIMENSIONS: usize = 16;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    RUNTIME.block_on(future)
}

/// Returns the URL of the test server.
pub(crate) fn url() -> Option<String> {
    env::var("DATABASE_URL").ok().filter(|url| !url.is_empty())
}

/// Returns true if a missing server is a failure.
pub(crate) fn is_required() -> bool {
    env::var("CONFORMANCE_REQUIRE").is_ok_and(|names| names.split(',').any(|name| name.trim() == "postgres"))
}

/// Returns options with the embedding space and the analyzer that most tests use.
pub(crate) fn store_options() -> StoreOptions {
    StoreOptions::new(EmbeddingSpace::cosine("test", DIMENSIONS), "words-1")
}

/// A separate schema, which is dropped with this value.
#[derive(Debug)]
pub(crate) struct Database {
    pub(crate) url: String,
    pub(crate) schema: String,
}

impl Database {
    pub(crate) fn new() -> Result<Self, Failed> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let url = url().ok_or("postgres is required (CONFORMANCE_REQUIRE), and DATABASE_URL names no server")?;
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Ok(Self { url, schema: format!("test_{}_{count}", std::process::id()) })
    }

    /// Returns options for this schema.
    pub(crate) fn options(&self) -> PostgresOptions {
        PostgresOptions::default().with_schema(&self.schema).with_max_connections(8)
    }

    pub(crate) async fn open(&self) -> PostgresStore {
        self.connect(self.options()).await
    }

    pub(crate) async fn connect(&self, options: PostgresOptions) -> PostgresStore {
        self.connect_as(store_options(), options).await
    }

    pub(crate) async fn connect_as(&self, store: StoreOptions, options: PostgresOptions) -> PostgresStore {
        PostgresStore::connect_with(&self.url, store, options).await.unwrap()
    }

    /// Installs a set of views, and opens a store.
    pub(crate) async fn open_with_views(&self, set: ViewSet) -> PostgresStore {
        install_views(&self.url, &self.options(), set).await.unwrap();
        self.open().await
    }

    /// Opens a connection that does not belong to a store.
    pub(crate) async fn connect_directly(&self) -> PgConnection {
        let options: PgConnectOptions = self.url.parse().unwrap();
        let path = format!("{},public", self.schema);
        PgConnection::connect_with(&options.options([("search_path", path)])).await.unwrap()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let drop_schema = async {
            let mut connection = PgConnection::connect(&self.url).await?;
            let sql = format!("DROP SCHEMA IF EXISTS {} CASCADE", self.schema);
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await?;
            connection.close().await
        };
        if let Err(error) = block_on(drop_schema) {
            eprintln!("the schema {} could not be dropped: {error}", self.schema);
        }
    }
}

pub(crate) fn lin() -> Scope {
    Scope::user("lin").unwrap()
}

pub(crate) fn turn(scope: &Scope, text: &str) -> Record {
    Record::new(scope.clone(), Kind::TURN, text, &SystemClock)
}

pub(crate) fn words(text: &str) -> Terms {
    text.split_whitespace().collect()
}

/// Returns a write of a record, with the words of its text as terms.
pub(crate) fn write(record: &Record) -> Write {
    Write { terms: Some(words(&record.text)), ..Write::upsert(record.clone()) }
}

/// Returns a pseudo-random vector for a seed.
pub(crate) fn vector(seed: u64) -> Embedding {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 24) as f32 - 0.5
    };
    Embedding::new((0..DIMENSIONS).map(|_| next()).collect()).unwrap()
}

pub(crate) async fn embed(store: &PostgresStore, record: &Record, embedding: Embedding) {
    let record = store.get(&record.scope, &[record.id]).await.unwrap().remove(0).unwrap();
    let scope = record.scope.clone();
    let entry = VectorEntry::new(Arc::new(record), embedding);
    VectorStore::upsert(store, &scope, &[entry]).await.unwrap();
}

pub(crate) async fn count_keyword_hits(store: &PostgresStore, scope: &Scope, term: &str) -> usize {
    let query = KeywordQuery::new(vec![Clause::term(term)], 1000);
    KeywordStore::search(store, scope, &query).await.unwrap().len()
}

pub(crate) async fn count_vector_hits(store: &PostgresStore, scope: &Scope, embedding: Embedding) -> usize {
    VectorStore::search(store, scope, &VectorQuery::new(embedding, 1000)).await.unwrap().len()
}

pub(crate) async fn test_databases_are_separate(database: &Database) {
    let other = Database::new().unwrap_or_else(|_| panic!("there is a server"));
    let store = database.open().await;
    let other_store = other.open().await;
    store.put(&lin(), vec![write(&turn(&lin(), "some words"))]).await.unwrap();
    assert_eq!(count_keyword_hits(&store, &lin(), "words").await, 1);
    assert_eq!(count_keyword_hits(&other_store, &lin(), "words").await, 0);
    tokio::task::spawn_blocking(move || drop(other)).await.unwrap();
}
