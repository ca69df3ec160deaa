//! The leases of a store are released when it ends.

use std::time::{Duration, Instant};

use memory_engine_core::{Error, ErrorKind, Job, JobQueue, Kind, Record, RecordStore, Scope, SystemClock, Write};
use memory_engine_postgres::PostgresStore;
use sqlx::AssertSqlSafe;

use crate::fixtures::Database;

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

/// Claims jobs until this many were released. The server needs a moment to notice a lost connection.
async fn claim_released(store: &PostgresStore, count: usize) {
    let started = Instant::now();
    let mut claimed = 0;
    while claimed < count {
        assert!(started.elapsed() < Duration::from_secs(60), "{claimed} of {count} leases were released");
        claimed += claim(store, 9).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(claimed, count);
}

pub(crate) async fn closing_a_store_releases_its_leases(database: &Database) {
    let first = database.open().await;
    let second = database.open().await;
    put(&first, 3).await;
    assert_eq!(claim(&first, 2).await, 2);
    assert_eq!(claim(&second, 9).await, 1, "the first store is open");
    first.close().await;
    claim_released(&second, 2).await;
    assert_eq!(first.claim(Job::Embedding, 9, LEASE).await.unwrap_err().kind(), ErrorKind::Closed);
}

pub(crate) async fn leases_of_a_dead_process_are_released(database: &Database) {
    let first = database.open().await;
    put(&first, 3).await;
    let pending = first.claim(Job::Embedding, 9, LEASE).await.unwrap();
    let error = Error::new(ErrorKind::Unavailable, "embed", "away");
    first.fail(&[pending[0].failed(&error, None)]).await.unwrap();
    // The connections end without a message, as those of a killed process.
    drop(first);
    let second = database.open().await;
    claim_released(&second, 2).await;
    assert_eq!(claim(&second, 9).await, 0, "a dead letter is not released");
}

pub(crate) async fn a_lost_lease_session_is_replaced(database: &Database) {
    let first = database.open().await;
    let second = database.open().await;
    put(&first, 3).await;
    assert_eq!(claim(&first, 1).await, 1);
    let mut connection = database.connect_directly().await;
    let terminate = "SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN lease_owners o
               ON l.locktype = 'advisory' AND ((l.classid::bigint << 32) | l.objid::bigint) = o.owner";
    sqlx::query(AssertSqlSafe(terminate)).execute(&mut connection).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1100)).await;
    assert_eq!(claim(&first, 1).await, 1, "the store opens another session");
    claim_released(&second, 2).await;
}
