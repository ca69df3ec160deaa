//! The databases and helpers of the tests.

use std::{
    env,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use libtest_mimic::Trial;
use memory_engine::{
    Builder, Database, Kind, MemoryEngine, RecallOptions, Record, RecordId, Result, Scope, Timestamp, Turn,
    admin::Mismatch, embed::Embedder, testing::ManualClock,
};
use memory_engine_postgres::{PostgresOptions, migrate_down};
use sqlx::Connection;

use crate::{Test, TestFn};

/// Noon of a day in February 2026.
pub(crate) const NOON: i64 = 1_772_000_000_000_000;

/// A database that is empty at first. It can be opened several times, one after the other or at once.
#[derive(Clone)]
pub(crate) struct TestDatabase {
    pub(crate) clock: Arc<ManualClock>,
    location: Location,
}

#[derive(Clone)]
enum Location {
    Sqlite(Arc<tempfile::TempDir>),
    Postgres(String, Box<PostgresOptions>, String),
}

impl TestDatabase {
    fn new(location: Location) -> Self {
        Self { clock: Arc::new(ManualClock::new(Timestamp::from_micros(NOON))), location }
    }

    /// Opens it without a background worker: `drain` processes the queued jobs.
    pub(crate) async fn open(&self) -> MemoryEngine {
        self.open_with(|builder| builder).await
    }

    pub(crate) async fn open_with(&self, change: impl FnOnce(Builder) -> Builder) -> MemoryEngine {
        let builder = MemoryEngine::builder().clock(self.clock.clone()).background(false);
        let builder = change(builder.recall_options(patient_recall()));
        match &self.location {
            Location::Sqlite(folder) => builder.sqlite(folder.path().join("memory.db")).build().await.unwrap(),
            Location::Postgres(url, options, _) => {
                builder.postgres_with(url, PostgresOptions::clone(options)).build().await.unwrap()
            }
        }
    }

    /// Opens it with this embedder, which may replace another one, with or without a background worker.
    pub(crate) async fn open_in(
        &self,
        embedder: Arc<dyn Embedder>,
        replaced: Option<Arc<dyn Embedder>>,
        mismatch: Mismatch,
        background: bool,
    ) -> Result<MemoryEngine> {
        let mut builder = MemoryEngine::builder().clock(self.clock.clone()).background(background);
        builder = builder.embedder(embedder.clone()).on_mismatch(mismatch).recall_options(patient_recall());
        if let Some(old) = &replaced {
            builder = builder.replacing(old.clone());
        }
        match &self.location {
            Location::Sqlite(folder) => builder.sqlite(folder.path().join("memory.db")).build().await,
            Location::Postgres(url, options, _) => {
                builder.postgres_with(url, PostgresOptions::clone(options)).build().await
            }
        }
    }

    /// Returns its address as an operator would write it. It must have been opened before.
    pub(crate) fn database(&self) -> Database {
        match &self.location {
            Location::Sqlite(folder) => Database::file(folder.path().join("memory.db")),
            Location::Postgres(url, _, schema) => {
                let separator = if url.contains('?') { '&' } else { '?' };
                Database::postgres(format!("{url}{separator}options[search_path]={schema},public"))
            }
        }
    }

    /// Asserts that no file (SQLite) or table (Postgres) contains this word, in upper or lower case.
    pub(crate) async fn assert_no_trace_of(&self, word: &str) {
        let word = word.to_lowercase();
        match &self.location {
            Location::Sqlite(folder) => {
                let mut files = 0;
                for file in std::fs::read_dir(folder.path()).unwrap() {
                    let path = file.unwrap().path();
                    let bytes = std::fs::read(&path).unwrap().to_ascii_lowercase();
                    let found = bytes.windows(word.len()).any(|window| window == word.as_bytes());
                    assert!(!found, "{} contains it", path.display());
                    files += 1;
                }
                assert!(files > 0, "no file was checked");
            }
            Location::Postgres(url, _, schema) => {
                let mut connection = sqlx::PgConnection::connect(url).await.unwrap();
                let tables = "SELECT table_name::text FROM information_schema.tables WHERE table_schema = $1
                              AND table_type = 'BASE TABLE'";
                let tables: Vec<String> =
                    sqlx::query_scalar(tables).bind(schema).fetch_all(&mut connection).await.unwrap();
                assert!(tables.len() > 8, "{tables:?}");
                let hex: String = word.bytes().map(|byte| format!("{byte:02x}")).collect();
                for table in tables {
                    let count = format!(
                        "SELECT count(*) FROM \"{schema}\".\"{table}\" x WHERE lower(x::text) LIKE $1 OR x::text LIKE $2"
                    );
                    let count = sqlx::query_scalar::<_, i64>(sqlx::AssertSqlSafe(count));
                    let count = count.bind(format!("%{word}%")).bind(format!("%{hex}%"));
                    assert_eq!(count.fetch_one(&mut connection).await.unwrap(), 0, "{table} contains it");
                }
            }
        }
    }

    async fn remove(self) {
        if let Location::Postgres(url, options, _) = self.location {
            migrate_down(&url, &options, 0).await.unwrap();
        }
    }
}

/// Returns options with a long deadline: the first query loads the dictionary, which takes time on a busy machine.
fn patient_recall() -> RecallOptions {
    RecallOptions::default().with_deadline(Duration::from_secs(60))
}

/// Returns every test on every backend.
pub(crate) fn trials(tests: &[Test]) -> Vec<Trial> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let url = env::var("DATABASE_URL").ok().filter(|url| !url.is_empty());
    let required = env::var("CONFORMANCE_REQUIRE").unwrap_or_default();
    let required = required.split(',').any(|name| name.trim() == "postgres");
    let mut trials = Vec::new();
    for (name, test) in tests {
        let test = *test;
        trials.push(Trial::test(format!("sqlite::{name}"), move || {
            run(test, TestDatabase::new(Location::Sqlite(Arc::new(tempfile::tempdir().unwrap()))));
            Ok(())
        }));
        let url = url.clone();
        let ignored = url.is_none() && !required;
        let on_postgres = move || {
            let url = url.ok_or("postgres is required (CONFORMANCE_REQUIRE), and DATABASE_URL names no server")?;
            let schema = format!("life_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
            let options = PostgresOptions::default().with_schema(schema.clone());
            run(test, TestDatabase::new(Location::Postgres(url, Box::new(options), schema)));
            Ok(())
        };
        trials.push(Trial::test(format!("postgres::{name}"), on_postgres).with_ignored_flag(ignored));
    }
    trials
}

fn run(test: TestFn, test_db: TestDatabase) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        test(test_db.clone()).await;
        test_db.remove().await;
    });
}

pub(crate) fn lin() -> Scope {
    Scope::user("lin").unwrap()
}

/// Returns the scope of Lin's session, or of a branch of it.
pub(crate) fn story(branch: Option<&str>) -> Scope {
    let story = lin().with_session("story").unwrap();
    branch.map_or(story.clone(), |branch| story.with_branch(branch).unwrap())
}

/// Returns a message of a story. Each is one second later than the message with the previous number.
pub(crate) fn message(sequence: i64, text: &str) -> Turn {
    let at = Timestamp::from_micros(NOON - 1_000_000_000 + sequence * 1_000_000);
    Turn::user(text).with_message_id(format!("m{sequence}")).with_sequence(sequence).at(at)
}

/// Returns a record that is derived from others.
pub(crate) fn derived_record(address: &Scope, kind: Kind, text: &str, from: &[RecordId]) -> Record {
    let clock = ManualClock::new(Timestamp::from_micros(NOON));
    let mut record = Record::new(address.clone(), kind, text, &clock);
    (record.derived_from, record.trust) = (from.to_vec(), memory_engine::Trust::Derived);
    record
}

/// Recalls with a query and returns the texts of the hits, sorted.
pub(crate) async fn recalled_texts(memory: &MemoryEngine, scope: &Scope, question: &str) -> Vec<String> {
    let query = memory_engine::RecallQuery::new(question).with_limit(100);
    let recall = memory.recall(scope, query).await.unwrap();
    let mut texts: Vec<String> = recall.hits.into_iter().map(|hit| hit.record.text).collect();
    texts.sort();
    texts
}
