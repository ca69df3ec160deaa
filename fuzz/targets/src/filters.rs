//! The target that compiles filters for both databases.
//!
//! SQLite runs each filter on a few records, and must find the same as [`Filter::matches`].

use memory_engine_core::{
    EmbeddingSpace, Filter, Kind, ManualClock, Record, RecordId, RecordStore, Role, ScanQuery, Scope, Timestamp, Write,
};
use memory_engine_sqlite::{SqliteStore, StoreOptions};
use serde_json::json;
use tempfile::TempDir;

use crate::runtime::block_on;

/// Tokens of filters.
pub(crate) const TOKENS: &[&str] = &[
    "{\"field\":\"",
    "\"value\":",
    "\"in\":[",
    "\"exists\":true",
    "\"op\":\"",
    "\"and\":[",
    "\"or\":[",
    "\"not\":{",
    "metadata.",
    "lt",
    "le",
    "gt",
    "ge",
    "eq",
    "kind",
    "role",
    "speaker",
    "session",
    "agent",
    "branch",
    "tags",
    "entities",
    "occurred_at",
    "confidence",
    "sequence",
    "id",
    "state",
    "trust",
    "n\"",
    "mood",
    "turn",
    "a\\\"b",
    "\\u0000",
    "2026-02-25T06:13:20Z",
    "null",
    "0.1",
    "1e308",
    "-0.0",
    "true",
];
/// 2026-02-25, 06:13 UTC.
const START_MICROS: i64 = 1_772_000_000_123_456;

/// A store with a few records.
struct Fixture {
    store: SqliteStore,
    records: Vec<Record>,
    _folder: TempDir,
}

thread_local! {
    static FIXTURE: Fixture = Fixture::new();
}

fn tenant_wide() -> Scope {
    Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap()
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = StoreOptions::new(EmbeddingSpace::cosine("fuzz", 8), "words-1");
        let records: Vec<Record> = (0..12).map(record).collect();
        let store = block_on(async {
            let store = SqliteStore::open(folder.path().join("memory.db"), options).await.unwrap();
            store.put(&tenant_wide(), records.iter().cloned().map(Write::upsert).collect()).await.unwrap();
            store
        });
        let stored = block_on(store.scan(&tenant_wide(), &ScanQuery::oldest(100))).unwrap().records;
        assert_eq!(stored.len(), records.len());
        Self { store, records: stored, _folder: folder }
    }
}

/// Returns a record. Each number has other fields.
fn record(number: u8) -> Record {
    let mut scope = Scope::user(if number.is_multiple_of(2) { "lin" } else { "mo" }).unwrap();
    if number.is_multiple_of(3) {
        scope = scope.with_agent("kai").unwrap().with_session("a\"b").unwrap();
    }
    let clock = ManualClock::new(Timestamp::from_micros(START_MICROS + i64::from(number) * 1_000_000));
    let kind = if number % 4 == 3 { Kind::FACT } else { Kind::TURN };
    let mut record = Record::new(scope, kind, format!("text {number}"), &clock);
    record.id = RecordId::from_bytes([number + 1; 16]);
    record.role = (number % 3 == 1).then_some(Role::USER);
    record.speaker = (number % 4 == 1).then(|| "凯".to_owned());
    record.confidence = f64::from(number) / 12.0;
    record.source.sequence = number.is_multiple_of(2).then_some(i64::from(number) - 4);
    if number.is_multiple_of(5) {
        record.tags = vec!["btc".into(), "turn".into()];
        record.entities = vec!["Docker".into()];
        record.valid_from = Some(Timestamp::from_micros(START_MICROS));
    }
    let value = match number % 8 {
        0 => json!(number),
        1 => json!("glad"),
        2 => json!(["glad", 1, 2.5, null, true]),
        3 => json!(null),
        4 => json!(true),
        5 => json!({"glad": 1}),
        6 => json!(0.1),
        _ => json!([]),
    };
    record.metadata.insert("mood".into(), value);
    record.metadata.insert("n".into(), json!(i64::from(number) - 6));
    record
}

/// Compiles a filter in JSON for both databases, and runs it on SQLite.
pub(crate) fn filters(input: &[u8]) {
    let Ok(filter) = serde_json::from_slice::<Filter>(input) else { return };
    if filter.validate().is_err() {
        return;
    }
    let text = serde_json::to_string(&filter).unwrap();
    assert_eq!(serde_json::from_str::<Filter>(&text).unwrap(), filter, "the JSON form of {text}");
    memory_engine_postgres::compiled_filter(&filter).unwrap();
    FIXTURE.with(|fixture| {
        let query = ScanQuery::oldest(100).with_filter(filter.clone());
        let found = block_on(fixture.store.scan(&tenant_wide(), &query)).unwrap().records;
        let found: Vec<RecordId> = found.iter().map(|record| record.id).collect();
        let expected = fixture.records.iter().filter(|record| filter.matches(record));
        assert_eq!(found, expected.map(|record| record.id).collect::<Vec<_>>(), "{text}");
    });
}
