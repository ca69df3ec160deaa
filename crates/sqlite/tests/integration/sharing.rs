//! Several stores on one file, as in several processes, and one store with concurrent callers.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use memory_engine_core::{EmbeddingSpace, ErrorKind, Job, JobQueue, Outcome, Record, RecordStore, Scope};
use memory_engine_keyword_store::{Clause, KeywordQuery, KeywordStore};
use memory_engine_sqlite::{Mismatch, SqliteOptions, SqliteStore, StoreOptions};
use memory_engine_vector_store::{VectorQuery, VectorStore};
use rusqlite::Connection;

use crate::fixtures::{embed, found, lin, near, open, options, turn, vector, write};

#[tokio::test]
async fn each_store_sees_the_writes_and_deletions_of_the_other() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let (one, other) = (open(&path).await, open(&path).await);
    let mut records = Vec::new();
    for (store, number) in [&one, &other, &one, &other].into_iter().zip(0..) {
        let record = turn(&lin().with_session(format!("s{number}")).unwrap(), "the same words");
        store.put(&lin(), vec![write(&record)]).await.unwrap();
        embed(store, &record, vector(number)).await;
        records.push(record);
        let expected = records.len();
        for reader in [&one, &other] {
            assert_eq!(found(reader, &lin(), "words").await, expected);
            assert_eq!(near(reader, &lin(), vector(9)).await, expected);
        }
    }
    let best = |store| async move {
        let hits = VectorStore::search(store, &lin(), &VectorQuery::new(vector(0), 1)).await.unwrap();
        (hits[0].id, hits[0].score.value())
    };
    embed(&one, &records[3], vector(0)).await;
    embed(&one, &records[0], vector(7)).await;
    assert_eq!(best(&other).await.0, records[3].id, "the vector that the other store has replaced");
    RecordStore::delete(&other, &lin(), &[records[0].id, records[3].id]).await.unwrap();
    for reader in [&one, &other] {
        assert_eq!((found(reader, &lin(), "words").await, near(reader, &lin(), vector(0)).await), (2, 2));
    }
    // The rows of deleted records are reused for another user.
    let mo = Scope::user("mo").unwrap();
    for number in 10..13 {
        let record = turn(&mo, "other words");
        one.put(&mo, vec![write(&record)]).await.unwrap();
        embed(&one, &record, vector(number)).await;
    }
    for reader in [&one, &other] {
        assert_eq!((found(reader, &lin(), "words").await, near(reader, &lin(), vector(11)).await), (2, 2));
        assert_eq!((found(reader, &mo, "words").await, near(reader, &mo, vector(11)).await), (3, 3));
    }
}

#[tokio::test]
async fn a_store_that_missed_trimmed_changes_reads_its_indexes_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let (one, other) = (open(&path).await, open(&path).await);
    let records: Vec<Record> = (0..3).map(|_| turn(&lin(), "words")).collect();
    one.put(&lin(), records.iter().map(write).collect()).await.unwrap();
    embed(&one, &records[0], vector(0)).await;
    assert_eq!(near(&other, &lin(), vector(0)).await, 1);
    for _ in 0..2 {
        assert_eq!(found(&other, &lin(), "words").await, 3);
    }
    // As after many later changes, most of which were trimmed from the log.
    Connection::open(&path).unwrap().execute_batch("INSERT INTO changes (change, record) VALUES (50000, 0)").unwrap();
    embed(&one, &records[1], vector(1)).await;
    embed(&one, &records[2], vector(2)).await;
    let oldest: i64 =
        Connection::open(&path).unwrap().query_row("SELECT min(change) FROM changes", [], |row| row.get(0)).unwrap();
    assert!(oldest > 1, "{oldest}");
    assert_eq!((near(&other, &lin(), vector(0)).await, found(&other, &lin(), "words").await), (3, 3));
    RecordStore::delete(&one, &lin(), &[records[0].id]).await.unwrap();
    assert_eq!((near(&other, &lin(), vector(0)).await, found(&other, &lin(), "words").await), (2, 2));
}

#[tokio::test]
async fn a_store_whose_indexes_another_process_has_rebuilt_returns_a_mismatch() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let old = open(&path).await;
    let record = turn(&lin(), "some words");
    old.put(&lin(), vec![write(&record)]).await.unwrap();
    let space = EmbeddingSpace::cosine("newer", 16);
    let rebuild = StoreOptions::new(space, "words-2").with_mismatch(Mismatch::Rebuild);
    let new = SqliteStore::open(&path, rebuild).await.unwrap();
    let words = KeywordQuery::new(vec![Clause::term("words")], 9);
    let mut failures = vec![
        KeywordStore::search(&old, &lin(), &words).await.unwrap_err(),
        VectorStore::search(&old, &lin(), &VectorQuery::new(vector(1), 9)).await.unwrap_err(),
        VectorStore::upsert(&old, &lin(), &[memory_engine_vector_store::VectorEntry::new(record.into(), vector(1))])
            .await
            .unwrap_err(),
    ];
    failures.push(old.put(&lin(), vec![write(&turn(&lin(), "more words"))]).await.unwrap_err());
    assert!(failures.iter().all(|e| e.kind() == ErrorKind::SchemaMismatch), "{failures:?}");
    assert_eq!(old.stats(&lin()).await.unwrap().records, 1, "the records are the same for all");
    assert_eq!(new.claim(Job::Keywords, 9, Duration::ZERO).await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn writers_of_several_stores_wait_for_each_other() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    // SQLite's lock is not fair: on a busy machine, a writer may wait for long.
    let patient = || SqliteOptions::default().with_busy_timeout(Duration::from_secs(60));
    let mut stores = Vec::new();
    for _ in 0..3 {
        stores.push(Arc::new(SqliteStore::open_with(&path, options(), patient()).await.unwrap()));
    }
    let mut tasks = Vec::new();
    for (store, number) in stores.iter().cycle().zip(0..9) {
        let store = Arc::clone(store);
        tasks.push(tokio::spawn(async move {
            let scope = Scope::user(format!("user {number}")).unwrap();
            for _ in 0..20 {
                let record = turn(&scope, "some words");
                let written = store.put(&scope, vec![write(&record)]).await.unwrap();
                assert_eq!(written[0].outcome, Outcome::Created);
                embed(&store, &record, vector(number)).await;
                assert!(store.get(&scope, &[record.id]).await.unwrap()[0].is_some(), "what is written can be read");
            }
            assert_eq!((found(&store, &scope, "words").await, near(&store, &scope, vector(1)).await), (20, 20));
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let stats = stores[0].stats(&Scope::tenant_wide("default").unwrap()).await.unwrap();
    assert_eq!((stats.records, stats.addresses), (180, 9));
}

#[tokio::test]
async fn an_item_leased_by_one_store_is_not_claimed_by_another() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let (one, other) = (open(&path).await, open(&path).await);
    let records: Vec<Record> = (0..5).map(|_| turn(&lin(), "words")).collect();
    one.put(&lin(), records.iter().map(write).collect()).await.unwrap();
    let lease = Duration::from_secs(600);
    let mut claimed = Vec::new();
    for store in [&one, &other, &one] {
        claimed.extend(store.claim(Job::Embedding, 2, lease).await.unwrap().into_iter().map(|p| p.record.id));
    }
    assert_eq!(claimed, records.iter().map(|record| record.id).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_write_lock_that_is_held_too_long_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let short_timeout = SqliteOptions::default().with_busy_timeout(Duration::from_millis(100));
    let store = SqliteStore::open_with(&path, options(), short_timeout).await.unwrap();
    let lock_holder = Connection::open(&path).unwrap();
    lock_holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let write_one = async || store.put(&lin(), vec![write(&turn(&lin(), "a secret"))]).await;
    let e = write_one().await.unwrap_err();
    assert_eq!((e.kind(), e.is_transient()), (ErrorKind::Unavailable, true));
    assert_eq!(e.to_string(), "put: another process holds the write lock of the database; try again");
    assert_eq!(store.stats(&lin()).await.unwrap().records, 0, "reads still work");
    lock_holder.execute_batch("ROLLBACK").unwrap();
    write_one().await.unwrap();
}

/// Queued writes are committed as a group.
#[tokio::test]
async fn a_failed_write_does_not_roll_back_others_of_its_group() {
    let directory = tempfile::tempdir().unwrap();
    let store = Arc::new(open(&directory.path().join("memory.db")).await);
    let existing = turn(&lin(), "the first");
    store.put(&lin(), vec![write(&existing)]).await.unwrap();
    let tasks: Vec<_> = (0..60)
        .map(|number| {
            let store = Arc::clone(&store);
            let existing = existing.clone();
            tokio::spawn(async move {
                let mut writes = vec![write(&turn(&lin(), "words"))];
                if number % 3 == 0 {
                    let mut duplicate = write(&existing);
                    duplicate.mode = memory_engine_core::PutMode::Create;
                    writes.push(duplicate);
                }
                store.put(&lin(), writes).await.map_err(|e| e.kind())
            })
        })
        .collect();
    let mut failed = 0;
    for task in tasks {
        failed += usize::from(task.await.unwrap().is_err_and(|kind| kind == ErrorKind::Conflict));
    }
    assert_eq!(failed, 20);
    assert_eq!((store.stats(&lin()).await.unwrap().records, found(&store, &lin(), "words").await), (41, 40));
}

#[tokio::test]
async fn a_dropped_call_has_its_full_effect_or_none() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = open(&path).await;
    for _ in 0..20 {
        let writes = (0..10).map(|_| write(&turn(&lin(), "words"))).collect();
        let _ = tokio::time::timeout(Duration::from_micros(300), store.put(&lin(), writes)).await;
    }
    store.close().await;
    let store = open(&path).await;
    let records = store.stats(&lin()).await.unwrap().records;
    assert_eq!((records % 10, found(&store, &lin(), "words").await as u64), (0, records));
}

/// A timer keeps ticking on the only thread of the runtime while the store works.
#[tokio::test(flavor = "current_thread")]
async fn no_call_blocks_the_runtime() {
    let directory = tempfile::tempdir().unwrap();
    let ticks = Arc::new(AtomicU32::new(0));
    let ticker = tokio::spawn({
        let ticks = Arc::clone(&ticks);
        async move {
            let mut timer = tokio::time::interval(Duration::from_millis(1));
            loop {
                timer.tick().await;
                ticks.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    let store = open(&directory.path().join("memory.db")).await;
    let text = "many different words to be kept ".repeat(20);
    let records: Vec<Record> = (0..1500).map(|_| turn(&lin(), &text)).collect();
    let writes = records.iter().map(write).collect();
    let ticks_since = |since: u32| ticks.load(Ordering::Relaxed) - since;
    let before = ticks.load(Ordering::Relaxed);
    store.put(&lin(), writes).await.unwrap();
    assert!(ticks_since(before) > 10, "{} ticks during a large write", ticks_since(before));
    let before = ticks.load(Ordering::Relaxed);
    for _ in 0..5 {
        assert_eq!(found(&store, &lin(), "words").await, 1000);
    }
    assert!(ticks_since(before) > 5, "{} ticks during searches", ticks_since(before));
    let before = ticks.load(Ordering::Relaxed);
    store.close().await;
    assert!(ticks_since(before) < 60_000, "closing takes a minute");
    ticker.abort();
}
