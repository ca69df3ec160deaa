//! Fixtures of the tests of this crate.

use std::{
    env,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU32, Ordering},
    },
};

use libtest_mimic::Failed;
use memory_engine_core::{Embedding, EmbeddingSpace, Kind, Record, RecordStore, Scope, SystemClock, Terms, Write};
use memory_engine_keyword_store::{Clause, KeywordQuery, KeywordStore};
use memory_engine_postgres::{PostgresOptions, PostgresStore, StoreOptions};
use memory_engine_vector_store::{VectorEntry, VectorQuery, VectorStore};
use sqlx::{AssertSqlSafe, Connection, PgConnection, postgres::PgConnectOptions};
use tokio::runtime::Runtime;

pub(crate) const DIMENSIONS: usize = 16;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    RUNTIME.block_on(future)
}

/// The server of the tests.
pub(crate) fn url() -> Option<String> {
    env::var("DATABASE_URL").ok().filter(|url| !url.is_empty())
}

/// Returns true if a missing server is a failure.
pub(crate) fn is_required() -> bool {
    env::var("CONFORMANCE_REQUIRE").is_ok_and(|names| names.split(',').any(|name| name.trim() == "postgres"))
}

/// The usual embedding space and analyzer of a test.
pub(crate) fn usual() -> StoreOptions {
    StoreOptions::new(EmbeddingSpace::cosine("test", DIMENSIONS), "words-1")
}

/// A schema of its own, gone with it.
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

    /// The usual options of a test, in this schema.
    pub(crate) fn options(&self) -> PostgresOptions {
        PostgresOptions::default().with_schema(&self.schema).with_max_connections(8)
    }

    pub(crate) async fn open(&self) -> PostgresStore {
        self.connect(self.options()).await
    }

    pub(crate) async fn connect(&self, options: PostgresOptions) -> PostgresStore {
        self.connect_as(usual(), options).await
    }

    pub(crate) async fn connect_as(&self, store: StoreOptions, options: PostgresOptions) -> PostgresStore {
        PostgresStore::connect_with(&self.url, store, options).await.unwrap()
    }

    /// A connection past the store, for looking behind it.
    pub(crate) async fn look(&self) -> PgConnection {
        let options: PgConnectOptions = self.url.parse().unwrap();
        let path = format!("{},public", self.schema);
        PgConnection::connect_with(&options.options([("search_path", path)])).await.unwrap()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let drop = async {
            let mut connection = PgConnection::connect(&self.url).await?;
            let sql = format!("DROP SCHEMA IF EXISTS {} CASCADE", self.schema);
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await?;
            connection.close().await
        };
        if let Err(error) = block_on(drop) {
            eprintln!("the schema {} stays behind: {error}", self.schema);
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

/// A write with the record's own words as its terms.
pub(crate) fn write(record: &Record) -> Write {
    Write { terms: Some(words(&record.text)), ..Write::upsert(record.clone()) }
}

/// Numbers that look like no other ones.
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
    let entry = VectorEntry { record: Arc::new(record), embedding };
    VectorStore::upsert(store, &scope, &[entry]).await.unwrap();
}

pub(crate) async fn found(store: &PostgresStore, scope: &Scope, term: &str) -> usize {
    let query = KeywordQuery::new(vec![Clause::term(term)], 1000);
    KeywordStore::search(store, scope, &query).await.unwrap().len()
}

pub(crate) async fn near(store: &PostgresStore, scope: &Scope, embedding: Embedding) -> usize {
    VectorStore::search(store, scope, &VectorQuery::new(embedding, 1000)).await.unwrap().len()
}

pub(crate) async fn a_database_of_a_test_is_its_own(database: &Database) {
    let other = Database::new().unwrap_or_else(|_| panic!("there is a server"));
    let (mine, others) = (database.open().await, other.open().await);
    mine.put(&lin(), vec![write(&turn(&lin(), "some words"))]).await.unwrap();
    assert_eq!((found(&mine, &lin(), "words").await, found(&others, &lin(), "words").await), (1, 0));
    tokio::task::spawn_blocking(move || drop(other)).await.unwrap();
}
