//! The stores of the tests.

use std::{
    collections::BTreeMap,
    env,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
};

use memory_engine::{
    Database, MemoryEngine, RecordId, ScanQuery, Scope, Timestamp, admin::Mismatch, testing::ManualClock,
};
use memory_engine_postgres::{PostgresOptions, migrate_down, migrate_up};
use serde_json::{Value, json};

/// Noon of a day in February 2026.
const NOON: i64 = 1_772_000_000_000_000;

/// A backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Memory,
    Sqlite,
    Postgres,
}

/// Makes stores, and removes them at the end of a test.
#[derive(Clone)]
pub(crate) struct Stores {
    pub(crate) clock: Arc<ManualClock>,
    folder: Arc<tempfile::TempDir>,
    schemas: Arc<Mutex<Vec<String>>>,
}

pub(crate) fn address() -> Option<String> {
    env::var("DATABASE_URL").ok().filter(|url| !url.is_empty())
}

pub(crate) fn is_required() -> bool {
    env::var("CONFORMANCE_REQUIRE").is_ok_and(|names| names.split(',').any(|name| name.trim() == "postgres"))
}

impl Stores {
    pub(crate) fn new() -> Self {
        Self {
            clock: Arc::new(ManualClock::new(Timestamp::from_micros(NOON))),
            folder: Arc::new(tempfile::tempdir().unwrap()),
            schemas: Arc::default(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the location of a new, empty database.
    pub(crate) async fn database(&self, kind: Kind) -> Database {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        if kind != Kind::Postgres {
            return Database::file(self.path(&format!("store{number}.db")));
        }
        let url = address().unwrap();
        let schema = format!("transfers_{}_{number}", std::process::id());
        let options = PostgresOptions::default().with_schema(schema.clone());
        // The schema must exist before an address can name it.
        migrate_up(&url, &options).await.unwrap();
        migrate_down(&url, &options, 0).await.unwrap();
        self.schemas.lock().unwrap().push(schema.clone());
        let separator = if url.contains('?') { '&' } else { '?' };
        Database::postgres(format!("{url}{separator}options[search_path]={schema},public"))
    }

    /// Opens a database.
    pub(crate) async fn open(&self, database: &Database) -> MemoryEngine {
        let builder = MemoryEngine::builder().clock(self.clock.clone()).background(false);
        builder.database(database.clone()).on_mismatch(Mismatch::Leave).build().await.unwrap()
    }

    /// Opens a new store.
    pub(crate) async fn engine(&self, kind: Kind) -> MemoryEngine {
        if kind == Kind::Memory {
            let builder = MemoryEngine::builder().clock(self.clock.clone()).background(false);
            return builder.in_memory().build().await.unwrap();
        }
        self.open(&self.database(kind).await).await
    }

    /// Returns the schema of the last database on Postgres.
    pub(crate) fn last_schema(&self) -> String {
        self.schemas.lock().unwrap().last().unwrap().clone()
    }

    pub(crate) async fn remove(self) {
        let schemas = std::mem::take(&mut *self.schemas.lock().unwrap());
        for schema in schemas {
            let options = PostgresOptions::default().with_schema(schema);
            migrate_down(&address().unwrap(), &options, 0).await.unwrap();
        }
    }
}

/// Returns the content of a store within these scopes: records without their revisions and the time of their storage,
/// and tombstones without their times.
pub(crate) async fn contents(engine: &MemoryEngine, scopes: &[Scope]) -> BTreeMap<String, Value> {
    let mut contents = BTreeMap::new();
    for scope in scopes {
        let page = engine.scan(scope, &ScanQuery::oldest(100_000)).await.unwrap();
        for record in page.records.into_iter().filter(|record| record.scope.namespace() == *scope) {
            let key = format!("record {} of {scope}", record.id);
            let mut value = serde_json::to_value(record).unwrap();
            value.as_object_mut().unwrap().retain(|name, _| !["revision", "recorded_at"].contains(&name.as_str()));
            contents.insert(key, value);
        }
        let tombstones = engine.admin().tombstones(scope, None, 100_000).await.unwrap();
        for tombstone in tombstones.into_iter().filter(|tombstone| tombstone.scope.namespace() == *scope) {
            let key = format!("tombstone {} of {scope}", tombstone.id);
            contents
                .insert(key, json!([tombstone.scope, tombstone.content_hash.to_string(), tombstone.cascade_deleted]));
        }
        let mut groups = engine.settings().synonyms().store().list(scope).await.unwrap();
        groups.sort_by_key(|group| group.key());
        contents.insert(format!("synonyms of {scope}"), json!(groups));
        let mut verdicts = engine.settings().synonyms().store().verdicts(scope).await.unwrap();
        verdicts.sort_by(|one, other| one.pair.cmp(&other.pair));
        contents.insert(format!("verdicts of {scope}"), json!(verdicts));
    }
    contents
}

/// Asserts that two stores have the same content, and shows the first difference.
#[track_caller]
pub(crate) fn assert_same(one: &BTreeMap<String, Value>, other: &BTreeMap<String, Value>, what: &str) {
    for key in one.keys().chain(other.keys()) {
        assert_eq!(one.get(key), other.get(key), "{what}: {key}");
    }
}

/// Returns the ids that are forgotten within these scopes.
pub(crate) async fn forgotten(engine: &MemoryEngine, scopes: &[Scope]) -> Vec<(Scope, RecordId)> {
    let mut ids = Vec::new();
    for scope in scopes {
        let tombstones = engine.admin().tombstones(scope, None, 100_000).await.unwrap();
        ids.extend(tombstones.into_iter().map(|tombstone| (tombstone.scope.namespace(), tombstone.id)));
    }
    ids
}
