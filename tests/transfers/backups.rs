//! Backups and their restoration.

use std::{collections::BTreeSet, fs, time::Duration};

use memory_engine::{
    Database, ErrorKind, MemoryEngine, PutMode, ScanQuery, Scope, Turn, admin,
    transfer::{self, BackupReport},
};
use memory_engine_postgres::PostgresOptions;

use crate::{
    history::{self, Random, scopes},
    stores::{Kind, Stores, assert_same, contents},
};

async fn back_up(database: &Database, file: &Database) -> memory_engine::Result<BackupReport> {
    transfer::backup(database, file, false, |_, _| ()).await
}

async fn restore(file: &Database, database: &Database) -> memory_engine::Result<BackupReport> {
    transfer::restore_backup(file, database, |_, _| ()).await
}

/// Fills a store with records, derived data, vectors, a graph, a queue with a dead letter, synonyms and tombstones.
async fn fill(stores: &Stores, database: &Database) -> MemoryEngine {
    let options = memory_engine::EnrichmentOptions::rules().unwrap();
    let builder = MemoryEngine::builder().database(database.clone()).clock(stores.clock.clone()).background(false);
    let engine =
        builder.enrichment(options).graph(memory_engine::graph::RuleExtractor::default()).build().await.unwrap();
    history::apply(&engine, &stores.clock, &mut Random::new(7), "filled", 120).await;
    let lin = Scope::user("lin").unwrap();
    for text in ["My sister Mei works with Kai at Acme in Porto.", "林和小梅住在上海。", "I love hiking with Kai."]
    {
        engine.remember(&lin, Turn::user(text)).await.unwrap();
    }
    engine.drain(&lin, |_| ()).await.unwrap();
    // These stay in the queue.
    engine.remember(&lin, "waits for its vector").await.unwrap();
    engine
}

pub(crate) async fn everything_is_restored(stores: Stores, one: Kind, other: Kind) {
    let source = stores.database(one).await;
    let engine = fill(&stores, &source).await;
    let file = Database::file(stores.path("monday.backup"));
    let report = back_up(&source, &file).await.unwrap();
    assert!(report.records > 40 && report.tombstones > 3, "{report:?}");
    assert_eq!(transfer::check_backup(&file).await.unwrap(), report);

    let target = stores.database(other).await;
    let restored = restore(&file, &target).await.unwrap();
    assert_eq!((restored.records, restored.tombstones), (report.records, report.tombstones));
    assert_eq!(transfer::fingerprint(&source).await.unwrap(), transfer::fingerprint(&target).await.unwrap());
    let copy = stores.open(&target).await;
    assert_same(&contents(&engine, &scopes()).await, &contents(&copy, &scopes()).await, "restored");
    for scope in scopes() {
        let stats = engine.stats(&scope).await.unwrap();
        assert_eq!(stats, copy.stats(&scope).await.unwrap());
        for record in engine.scan(&scope, &ScanQuery::oldest(100_000)).await.unwrap().records {
            assert_eq!(copy.get(&record.scope, record.id).await.unwrap().as_ref(), Some(&record));
        }
    }
    let lin = Scope::user("lin").unwrap();
    assert!(engine.stats(&lin).await.unwrap().queued.values().sum::<u64>() > 0, "a queue is restored");
    let health = admin::check_health(&target).await.unwrap();
    assert!(health.problems.is_empty(), "{health:?}");
    for query in ["violin", "上海", "Kai"] {
        let hits = |engine: MemoryEngine| async move {
            let hits = engine.recall(&Scope::user("lin").unwrap(), query).await.unwrap().hits;
            hits.iter().map(|hit| hit.record.id).collect::<Vec<_>>()
        };
        assert_eq!(hits(engine.clone()).await, hits(copy.clone()).await, "{query}");
    }
    // Nothing that was forgotten can come back.
    let tombstones = engine.admin().tombstones(&lin, None, 1000).await.unwrap();
    assert!(!tombstones.is_empty());
    for tombstone in tombstones {
        let mut record =
            memory_engine::Record::new(tombstone.scope.clone(), memory_engine::Kind::NOTE, "again", &*stores.clock);
        record.id = tombstone.id;
        let written = copy.store(&tombstone.scope, vec![record], PutMode::Upsert).await.unwrap();
        assert_eq!(written[0].outcome.as_str(), "blocked");
    }
}

pub(crate) async fn a_backup_during_writes_is_one_state(stores: Stores, kind: Kind) {
    let database = stores.database(kind).await;
    let engine = fill(&stores, &database).await;
    let lin = Scope::user("lin").unwrap();
    let writer = {
        let (engine, lin) = (engine.clone(), lin.clone());
        tokio::spawn(async move {
            for n in 0..10_000 {
                // Each pair of turns is one transaction.
                let pair = [0, 1].map(|half| Turn::user(format!("pair {n} half {half}")));
                engine.remember_all(&lin, pair).await.unwrap();
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
    };
    let mut sizes = BTreeSet::new();
    for n in 0..4 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let file = Database::file(stores.path(&format!("{n}.backup")));
        let report = back_up(&database, &file).await.unwrap();
        sizes.insert(report.records);
        let copy = stores.open(&file).await;
        let texts: Vec<String> =
            copy.scan(&lin, &ScanQuery::oldest(100_000)).await.unwrap().records.into_iter().map(|r| r.text).collect();
        let halves = texts.iter().filter(|text| text.starts_with("pair ")).count();
        assert_eq!(halves % 2, 0, "half of a transaction is in the backup");
    }
    writer.abort();
    assert!(sizes.len() > 1, "nothing was written during the backups: {sizes:?}");
}

pub(crate) async fn damage_and_existing_data_are_refused(stores: Stores, kind: Kind) {
    let source = stores.database(Kind::Sqlite).await;
    fill(&stores, &source).await;
    let path = stores.path("monday.backup");
    let file = Database::file(&path);
    back_up(&source, &file).await.unwrap();
    let error = back_up(&source, &file).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    transfer::backup(&source, &file, true, |_, _| ()).await.unwrap();

    // A target with data.
    let target = stores.database(kind).await;
    let engine = stores.open(&target).await;
    engine.remember(&Scope::user("mo").unwrap(), "mine").await.unwrap();
    let error = restore(&file, &target).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    engine.close().await.unwrap();

    // One changed letter, in a text of a record.
    let intact = fs::read(&path).unwrap();
    let at = intact.windows(6).position(|bytes| bytes == b"violin").unwrap();
    let mut changed = intact.clone();
    changed[at] = b'V';
    fs::write(&path, changed).unwrap();
    let empty = stores.database(kind).await;
    for _ in 0..2 {
        let error = restore(&file, &empty).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    }
    // Half of the file, and a file of another kind.
    fs::write(&path, &intact[..intact.len() / 2]).unwrap();
    let error = restore(&file, &empty).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::InvalidInput), "{error}");
    fs::write(&path, "not a database").unwrap();
    let error = restore(&file, &empty).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    // A store is no backup.
    let error = restore(&source, &empty).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    if let Some(path) = empty.path() {
        assert!(!path.exists());
    }
    // Failed restores leave no file.
    fs::write(&path, &intact).unwrap();
    restore(&file, &empty).await.unwrap();
    let names = fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(names.into_iter().all(|name| !name.to_string_lossy().contains("incomplete")));
}

pub(crate) async fn deleted_bytes_are_not_in_the_file(stores: Stores) {
    let database = stores.database(Kind::Sqlite).await;
    let engine = stores.open(&database).await;
    let lin = Scope::user("lin").unwrap();
    let mut secrets = Vec::new();
    for n in 0..50 {
        let text = format!("xylophone number {n} 秘密的海鲜 {}", "padding ".repeat(n * 10));
        secrets.push(engine.remember(&lin, text.as_str()).await.unwrap());
        engine.remember(&lin, "kept turn about the harbour").await.unwrap();
    }
    engine.drain(&lin, |_| ()).await.unwrap();
    for id in secrets {
        engine.forget(&lin, id).await.unwrap();
    }
    let path = stores.path("monday.backup");
    let report = back_up(&database, &Database::file(&path)).await.unwrap();
    let bytes = fs::read(&path).unwrap();
    assert_eq!(report.bytes, bytes.len() as u64);
    for (word, expected) in [("xylophone", false), ("秘密的海鲜", false), ("harbour", true)] {
        let found = bytes.windows(word.len()).any(|window| window == word.as_bytes());
        assert_eq!(found, expected, "{word}");
    }
    let names: Vec<String> = fs::read_dir(path.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("monday"))
        .collect();
    assert_eq!(names, ["monday.backup"], "one file");
}

/// The tables of Postgres that are backed up, with their columns.
const BACKED_UP: [(&str, &str); 15] = [
    ("scopes", "agent, branch, documents, namespace, scope, secondary_vectors, session, vectors"),
    ("audit_chains", "hash, pruned_hash, pruned_sequence, sequence, tenant"),
    (
        "audit_log",
        "action, actor_agent, actor_key, agent, branch, error, failed_entry, hash, operation, previous_hash, \
         record_count, records, sequence, session, tenant, username, written_at",
    ),
    ("blocked_contents", "cascade_deleted, content_hash, namespace"),
    // Leases and delays of retries end with a backup.
    ("jobs", "attempts, id, job, leased_at, leased_until, namespace, owner, queued_at, reason, ticket"),
    ("graph_aliases", "alias, entity, id, name, namespace, scope"),
    ("graph_edges", "id, namespace, number, relation, rule, scope, source, target, valid_from, valid_until"),
    ("graph_entities", "entity, id, kind, name, namespace, scope"),
    ("keyword_documents", "counts, id, length, lexemes, namespace, repeated_terms, scope, terms"),
    ("namespaces", "namespace, tenant, username"),
    (
        "records",
        "confidence, content_hash, derived_from, emotion, entities, expires_at, folded, id, importance, kind, \
         message_id, metadata, namespace, occurred_at, pinned, place, recorded_at, revision, role, round, scene, \
         scope, sequence, speaker, state, tags, text, topic, trust, valid_from, valid_until",
    ),
    ("secondary_vectors", "embedding, id, namespace, scope, tokens"),
    ("synonym_verdicts", "accepted, first, namespace, second"),
    ("tombstones", "cascade_deleted, content_hash, deleted_at, id, namespace, scope"),
    ("vectors", "embedding, id, namespace, scope, tokens"),
];
/// Tables of which not every column is backed up: the time of a group of synonyms has no meaning, and `index_metadata`
/// also describes indexes of this server.
const BACKED_UP_IN_PART: [(&str, &str); 2] =
    [("index_metadata", "made_by, part"), ("synonym_groups", "category, created_at, members, namespace, term")];
/// Tables without content of their own.
const DERIVED: [&str; 3] = ["lease_owners", "memory_schema", "record_groups"];

pub(crate) async fn no_table_is_forgotten(stores: Stores) {
    let database = stores.database(Kind::Postgres).await;
    stores.open(&database).await.close().await.unwrap();
    let url = crate::address().unwrap();
    let schema = stores.last_schema();
    let options = PostgresOptions::default().with_schema(schema);
    let found = memory_engine_postgres::tables(&url, &options).await.unwrap();
    let found: BTreeSet<(String, String)> =
        found.into_iter().filter(|(table, _)| !DERIVED.contains(&table.as_str())).collect();
    let expected: BTreeSet<(String, String)> = BACKED_UP
        .iter()
        .chain(&BACKED_UP_IN_PART)
        .map(|(table, columns)| ((*table).to_owned(), (*columns).to_owned()))
        .collect();
    assert_eq!(found, expected, "add the table or column to `BackupTable`, to both backends, and to this list");
}
