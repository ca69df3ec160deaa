//! The audit log in a file: what its verification finds, and several writers.

use std::{path::Path, sync::Arc};

use memory_engine_core::{
    RecordId, RecordStore, Scope, Timestamp,
    audit::{Actor, AuditAction, AuditEvent, AuditHead, AuditLog, AuditProblem, AuditQuery, verify_chain},
};
use memory_engine_sqlite::SqliteStore;
use rusqlite::Connection;

use crate::fixtures::{lin, open};

const TENANT: &str = Scope::DEFAULT_TENANT;

fn event() -> AuditEvent {
    AuditEvent::new(Actor::new(Some("laptop"), None), AuditAction::Delete, "forget", lin())
        .with_records(vec![RecordId::new()])
}

fn log(store: &SqliteStore) -> Arc<dyn AuditLog> {
    store.audit_log().unwrap()
}

async fn head(store: &SqliteStore) -> AuditHead {
    log(store).chain(TENANT).await.unwrap().head
}

/// Returns the problems of a log of five entries, of which the first was pruned, after this change of its tables.
async fn problems_after(sql: &str, expected: impl AsyncFnOnce(&SqliteStore) -> Option<AuditHead>) -> Vec<AuditProblem> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = open(&path).await;
    log(&store).append(TENANT, vec![event()]).await.unwrap();
    log(&store).prune(TENANT, Timestamp::from_micros(i64::MAX), &Actor::engine()).await.unwrap();
    for _ in 0..3 {
        log(&store).append(TENANT, vec![event()]).await.unwrap();
    }
    let expected = expected(&store).await;
    let intact = verify_chain(&*log(&store), TENANT, expected.as_ref()).await.unwrap();
    assert!(intact.is_intact(), "{intact:?}");
    assert_eq!(intact.entries, 4);
    execute(&path, sql);
    verify_chain(&*log(&store), TENANT, expected.as_ref()).await.unwrap().problems
}

fn execute(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

#[tokio::test]
async fn every_change_of_an_entry_is_found() {
    let changes = [
        "actor_key = 'phone'",
        "actor_key = ' laptop'",
        "actor_key = NULL",
        "actor_agent = 'other'",
        "action = 'write'",
        "operation = 'remember'",
        "user = 'mo'",
        "session = 's'",
        "records = x'00000000000000000000000000000000'",
        "records = x''",
        "record_count = 2",
        "written_at = written_at + 1",
        "error = 'conflict', failed_entry = 1",
        "previous_hash = hash",
    ];
    for change in changes {
        let sql = format!("UPDATE audit_log SET {change} WHERE sequence = 4");
        let problems = problems_after(&sql, async |_| None).await;
        assert!(problems.contains(&AuditProblem::Changed { sequence: 4 }), "{change}: {problems:?}");
    }
    // A changed entry with a hash of its own breaks the next link.
    let sql = "UPDATE audit_log SET hash = zeroblob(32) WHERE sequence = 4";
    let problems = problems_after(sql, async |_| None).await;
    assert_eq!(problems, [AuditProblem::Changed { sequence: 4 }, AuditProblem::Detached { sequence: 5 }]);
    for unreadable in ["action = 'stole'", "records = x'00'", "hash = x'00'", "user = 'a' || char(10)"] {
        let sql = format!("UPDATE audit_log SET {unreadable} WHERE sequence = 4");
        let problems = problems_after(&sql, async |_| None).await;
        assert_eq!(problems, [AuditProblem::Unreadable { after: 1 }], "{unreadable}");
    }
}

#[tokio::test]
async fn removed_entries_are_found() {
    let remove = |condition: &str| format!("DELETE FROM audit_log WHERE {condition}");
    let problems = problems_after(&remove("sequence = 3"), async |_| None).await;
    assert_eq!(problems, [AuditProblem::Missing { first: 3, last: 3 }]);
    let problems = problems_after(&remove("sequence IN (3, 4)"), async |_| None).await;
    assert_eq!(problems, [AuditProblem::Missing { first: 3, last: 4 }]);
    let problems = problems_after(&remove("sequence = 5"), async |_| None).await;
    assert_eq!(problems, [AuditProblem::Missing { first: 5, last: 5 }]);
    // The first remaining entry is the one about the pruning.
    let problems = problems_after(&remove("sequence = 2"), async |_| None).await;
    let anchor = AuditProblem::AnchorDiffers { sequence: 1 };
    assert_eq!(problems, [AuditProblem::Missing { first: 2, last: 2 }, anchor]);
    let problems = problems_after("DELETE FROM audit_log", async |_| None).await;
    assert_eq!(problems, [AuditProblem::Missing { first: 2, last: 5 }, anchor]);
    let problems = problems_after("DELETE FROM audit_chains", async |_| None).await;
    assert!(problems.contains(&AuditProblem::HeadDiffers { sequence: 0 }), "{problems:?}");
}

#[tokio::test]
async fn a_removed_log_is_no_intact_log() {
    let removed = "DELETE FROM audit_log; DELETE FROM audit_chains";
    assert_eq!(problems_after(removed, async |_| None).await, [AuditProblem::NoLog]);
    let problems = problems_after(removed, async |store| Some(head(store).await)).await;
    assert_eq!(problems, [AuditProblem::NoLog, AuditProblem::ExpectedDiffers { sequence: 5 }]);
}

#[tokio::test]
async fn a_log_whose_chain_was_removed_continues_after_its_latest_entry() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = open(&path).await;
    log(&store).append(TENANT, vec![event(), event()]).await.unwrap();
    let noted = head(&store).await;
    execute(&path, "DELETE FROM audit_chains");
    assert!(log(&store).is_used().await.unwrap());
    assert_eq!(log(&store).append(TENANT, vec![event()]).await.unwrap(), [3]);
    let verification = verify_chain(&*log(&store), TENANT, Some(&noted)).await.unwrap();
    assert_eq!((verification.problems, verification.entries), (Vec::new(), 3));
    execute(&path, "DELETE FROM audit_log");
    assert!(log(&store).is_used().await.unwrap());
    assert_eq!(log(&store).append(TENANT, vec![event()]).await.unwrap(), [4]);
    let problems = verify_chain(&*log(&store), TENANT, None).await.unwrap().problems;
    assert_eq!(problems, [AuditProblem::Missing { first: 1, last: 3 }]);
}

#[tokio::test]
async fn a_moved_beginning_is_found() {
    let sql = "UPDATE audit_chains SET pruned_sequence = 3,
                   pruned_hash = (SELECT hash FROM audit_log WHERE sequence = 3);
               DELETE FROM audit_log WHERE sequence <= 3";
    let problems = problems_after(sql, async |_| None).await;
    assert_eq!(problems, [AuditProblem::AnchorDiffers { sequence: 3 }]);
}

#[tokio::test]
async fn pruning_does_not_hide_missing_entries() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = open(&path).await;
    log(&store).append(TENANT, vec![event(), event(), event()]).await.unwrap();
    execute(&path, "DELETE FROM audit_log WHERE sequence = 2");
    let pruned = log(&store).prune(TENANT, Timestamp::from_micros(i64::MAX), &Actor::engine()).await;
    assert_eq!(pruned.unwrap_err().kind(), memory_engine_core::ErrorKind::Corrupt);
    let problems = verify_chain(&*log(&store), TENANT, None).await.unwrap().problems;
    assert_eq!(problems, [AuditProblem::Missing { first: 2, last: 2 }]);
}

/// Without an entry that was noted elsewhere, a removed end cannot be found: this is why `memory audit head` exists.
#[tokio::test]
async fn a_removed_end_is_found_with_a_noted_entry() {
    let sql = "DELETE FROM audit_log WHERE sequence = 5;
               UPDATE audit_chains SET sequence = 4, hash = (SELECT hash FROM audit_log WHERE sequence = 4)";
    assert_eq!(problems_after(sql, async |_| None).await, []);
    let problems = problems_after(sql, async |store| Some(head(store).await)).await;
    assert_eq!(problems, [AuditProblem::ExpectedDiffers { sequence: 5 }]);
}

#[tokio::test]
async fn several_stores_on_one_file_continue_one_chain() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let (one, other) = (open(&path).await, open(&path).await);
    let mut tasks = Vec::new();
    for store in [&one, &other, &one, &other] {
        let log = log(store);
        tasks.push(tokio::spawn(async move {
            for _ in 0..25 {
                log.append(TENANT, vec![event()]).await.unwrap();
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let verification = verify_chain(&*log(&one), TENANT, None).await.unwrap();
    assert_eq!((verification.problems, verification.entries), (Vec::new(), 100));
    assert_eq!(head(&other).await.sequence, 100);
}

#[tokio::test]
async fn a_log_survives_its_store() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = open(&path).await;
    log(&store).append(TENANT, vec![event(), event()]).await.unwrap();
    let noted = head(&store).await;
    store.close().await;
    let error = log(&store).append(TENANT, vec![event()]).await.unwrap_err();
    assert_eq!(error.kind(), memory_engine_core::ErrorKind::Closed);
    let store = open(&path).await;
    log(&store).append(TENANT, vec![event()]).await.unwrap();
    assert!(verify_chain(&*log(&store), TENANT, Some(&noted)).await.unwrap().is_intact());
    let page = log(&store).read(&lin(), &AuditQuery::oldest(10)).await.unwrap();
    assert_eq!(page.entries.len(), 3);
}
