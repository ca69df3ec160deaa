//! A store with data of every type, and a function that reads all of it.

#![allow(dead_code, reason = "each test file needs a part of it")]

use memory_engine::{
    Database, Kind, MemoryEngine, PutMode, Record, Role, ScanQuery, Scope, State, SystemClock, Timestamp, Trust,
    admin::{self, Mismatch},
    synonyms::{SynonymGroup, SynonymStoreExt},
};

/// Opens a store for reading and writing its records.
pub(crate) async fn open(database: &Database) -> MemoryEngine {
    let builder = MemoryEngine::builder().database(database.clone()).on_mismatch(Mismatch::Leave).background(false);
    builder.build().await.unwrap()
}

/// Returns the nth record of a user, which is always the same, with every field set.
pub(crate) fn record(user: &str, n: usize) -> Record {
    let scope = Scope::user(user).unwrap().with_agent("kai").unwrap().with_session(format!("s{n}")).unwrap();
    let mut record = Record::new(scope.clone(), Kind::FACT, format!("the brass key, number {n}"), &SystemClock);
    record.id = memory_engine::RecordId::named(&scope, &format!("record {n}"));
    record.role = Some(Role::ASSISTANT);
    record.speaker = Some("Kai 旅".into());
    record.scene = Some("plot".into());
    record.tags = vec!["BTC".into(), "金".into()];
    record.confidence = 0.1 + 0.2;
    record.trust = Trust::Import;
    record.occurred_at = Timestamp::from_micros(1_700_000_000_000_000 + n as i64);
    record.recorded_at = Timestamp::from_micros(1_700_000_100_000_001);
    record.valid_until = Some(Timestamp::from_micros(1_800_000_000_000_000));
    record.metadata.insert("pi".into(), serde_json::json!({"π": 1.1000000000000003, "n": n}));
    record.state = [State::Active, State::Superseded, State::Revoked][n % 3];
    record
}

/// Writes three users of two tenants, records in three states, tombstones, synonyms and a verdict.
pub(crate) async fn fill(database: &Database) {
    let engine = open(database).await;
    let records_of = |user: &str, records: std::ops::Range<usize>| records.map(|n| record(user, n)).collect::<Vec<_>>();
    let lin = Scope::user("lin").unwrap();
    let mo = Scope::user("mo").unwrap();
    engine.store(&lin, records_of("lin", 0..5), PutMode::Create).await.unwrap();
    engine.store(&mo, records_of("mo", 0..2), PutMode::Create).await.unwrap();
    let other = Scope::tenant_wide("other").unwrap().with_user("lin").unwrap();
    let mut stranger = record("lin", 7);
    stranger.scope = other.clone();
    // A record without a user, with the id of another user's record.
    let mut without_user = record("lin", 0);
    without_user.scope = Scope::tenant_wide("other").unwrap();
    engine.store(&other.namespace(), vec![stranger], PutMode::Create).await.unwrap();
    engine.store(&without_user.scope.clone(), vec![without_user], PutMode::Create).await.unwrap();
    let extra = record("mo", 9);
    let id = extra.id;
    engine.store(&mo, vec![extra], PutMode::Create).await.unwrap();
    engine.forget(&mo, id).await.unwrap();
    // A forgotten record, with the same text as one that is kept.
    let mut twin = record("lin", 1);
    twin.id = memory_engine::RecordId::named(&twin.scope, "a twin");
    let id = twin.id;
    engine.store(&lin, vec![twin], PutMode::Create).await.unwrap();
    engine.forget(&lin, id).await.unwrap();
    let synonyms = engine.settings().synonyms().store();
    let tenant = Scope::tenant_wide("default").unwrap();
    synonyms.put(&tenant, &[SynonymGroup::new("KSK", ["Kommando Spezialkräfte"]).with_category("org")]).await.unwrap();
    synonyms.put(&lin, &[SynonymGroup::new("纹身", ["双头鹰"])]).await.unwrap();
    synonyms.reject(&lin, "猫", "狗").await.unwrap();
    engine.drain(&tenant, |_| {}).await.unwrap();
}

/// Returns the content of a store as text: every record without its revision, every tombstone, group and verdict.
pub(crate) async fn everything(database: &Database) -> String {
    let engine = open(database).await;
    let mut all = String::new();
    let mut line = |what: serde_json::Value| all.push_str(&format!("{what}\n"));
    let mut scopes = admin::namespaces(database).await.unwrap();
    scopes.sort();
    for scope in &scopes {
        let is_in_scope = |address: &Scope| address.namespace() == *scope;
        let page = engine.scan(scope, &ScanQuery::oldest(10_000)).await.unwrap();
        for mut record in page.records.into_iter().filter(|record| is_in_scope(&record.scope)) {
            record.revision = 0;
            // The former states of a record are those of its store.
            record.metadata.retain(|key, _| !matches!(key.as_str(), "former_states" | "text_since" | "edits"));
            line(serde_json::to_value(record).unwrap());
        }
        for tombstone in
            engine.admin().tombstones(scope, None, 10_000).await.unwrap().iter().filter(|t| is_in_scope(&t.scope))
        {
            line(serde_json::to_value(tombstone).unwrap());
        }
        for group in engine.settings().synonyms().store().list(scope).await.unwrap() {
            line(serde_json::json!({ "of": scope, "group": group }));
        }
        for verdict in engine.settings().synonyms().store().verdicts(scope).await.unwrap() {
            line(serde_json::json!({ "of": scope, "verdict": verdict }));
        }
    }
    all
}
