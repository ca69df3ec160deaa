//! The leases of a store that is gone are free at once.

use std::time::{Duration, Instant};

use memory_engine_core::{Error, ErrorKind, Job, JobQueue, Kind, Record, RecordStore, Scope, SystemClock, Write};
use memory_engine_postgres::PostgresStore;
use sqlx::AssertSqlSafe;

use crate::given::Database;

const LEASE: Duration = Duration::from_secs(3600);

async fn put(store: &PostgresStore, count: usize) {
    for n in 0..count {
        let lin = Scope::user(format!("lin{n}")).unwrap();
        let record = Record::new(lin.clone(), Kind::NOTE, format!("note {n}"), &SystemClock);
        store.put(&lin, vec![Write::upsert(record)]).await.unwrap();
    }
}

async fn claim(store: &PostgresStore, limit: usize) -> usize {
    store.claim(Job::Embedding, limit, LEASE).await.unwrap().len()
}

/// Claims until as many are free. The server needs a moment to notice that a connection is gone.
async fn wait_for(store: &PostgresStore, count: usize) {
    let started = Instant::now();
    let mut claimed = 0;
    while claimed < count {
        assert!(started.elapsed() < Duration::from_secs(10), "{claimed} of {count} are free");
        claimed += claim(store, 9).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(claimed, count);
}

pub(crate) async fn the_leases_of_a_live_store_hold_and_those_of_a_closed_one_are_free(database: &Database) {
    let (first, second) = (database.open().await, database.open().await);
    put(&first, 3).await;
    assert_eq!(claim(&first, 2).await, 2);
    assert_eq!(claim(&second, 9).await, 1, "the first store lives");
    first.close().await;
    wait_for(&second, 2).await;
    assert_eq!(first.claim(Job::Embedding, 9, LEASE).await.unwrap_err().kind(), ErrorKind::Closed);
}

pub(crate) async fn the_leases_of_a_store_whose_process_ended_are_free(database: &Database) {
    let first = database.open().await;
    put(&first, 3).await;
    let pending = first.claim(Job::Embedding, 9, LEASE).await.unwrap();
    let error = Error::new(ErrorKind::Unavailable, "embed", "away");
    first.fail(&[pending[0].failed(&error, None)]).await.unwrap();
    // Its connections end without a word, as those of a process that is killed.
    drop(first);
    let second = database.open().await;
    wait_for(&second, 2).await;
    assert_eq!(claim(&second, 9).await, 0, "a dead letter stays one");
}

pub(crate) async fn a_store_that_lost_its_session_claims_with_another_one(database: &Database) {
    let (first, second) = (database.open().await, database.open().await);
    put(&first, 3).await;
    assert_eq!(claim(&first, 1).await, 1);
    let mut look = database.look().await;
    let end = "SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN lease_owners o
               ON l.locktype = 'advisory' AND ((l.classid::bigint << 32) | l.objid::bigint) = o.owner";
    sqlx::query(AssertSqlSafe(end)).execute(&mut look).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1100)).await;
    assert_eq!(claim(&first, 1).await, 1, "it goes on");
    wait_for(&second, 2).await;
}
