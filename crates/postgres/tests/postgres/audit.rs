//! The audit log in a database: what its verification finds, and several writers.

use std::sync::Arc;

use memory_engine_core::{
    RecordId, RecordStore, Scope, Timestamp,
    audit::{Actor, AuditAction, AuditEvent, AuditLog, AuditProblem, verify_chain},
};
use memory_engine_postgres::PostgresStore;
use sqlx::{AssertSqlSafe, Connection};

use crate::fixtures::{Database, lin};

const TENANT: &str = Scope::DEFAULT_TENANT;

fn event() -> AuditEvent {
    AuditEvent::new(Actor::new(Some("laptop"), None), AuditAction::Delete, "forget", lin())
        .with_records(vec![RecordId::new()])
}

fn log(store: &PostgresStore) -> Arc<dyn AuditLog> {
    store.audit_log().unwrap()
}

async fn problems(store: &PostgresStore) -> Vec<AuditProblem> {
    verify_chain(&*log(store), TENANT, None).await.unwrap().problems
}

/// Each change is undone before the next one.
pub(crate) async fn changed_and_removed_entries_are_found(database: &Database) {
    let store = database.open().await;
    log(&store).append(TENANT, vec![event()]).await.unwrap();
    log(&store).prune(TENANT, Timestamp::from_micros(i64::MAX), &Actor::engine()).await.unwrap();
    log(&store).append(TENANT, vec![event(), event(), event()]).await.unwrap();
    assert_eq!(problems(&store).await, []);

    let changes = [
        "actor_key = 'phone'",
        "actor_key = NULL",
        "action = 'write'",
        "username = 'mo'",
        "records = '{00000000-0000-0000-0000-000000000000}'",
        "record_count = 2",
        "written_at = written_at + 1",
        "error = 'conflict', failed_entry = 1",
    ];
    let changed = changes.map(|change| {
        let sql = format!("UPDATE audit_log SET {change} WHERE sequence = 4");
        (sql, vec![AuditProblem::Changed { sequence: 4 }])
    });
    let anchor = AuditProblem::AnchorDiffers { sequence: 1 };
    let others = [
        ("UPDATE audit_log SET action = 'stole' WHERE sequence = 4", vec![AuditProblem::Unreadable { after: 1 }]),
        ("DELETE FROM audit_log WHERE sequence = 3", vec![AuditProblem::Missing { first: 3, last: 3 }]),
        ("DELETE FROM audit_log WHERE sequence = 5", vec![AuditProblem::Missing { first: 5, last: 5 }]),
        ("DELETE FROM audit_log WHERE sequence = 2", vec![AuditProblem::Missing { first: 2, last: 2 }, anchor]),
        (
            "UPDATE audit_chains SET pruned_sequence = 3,
                 pruned_hash = (SELECT l.hash FROM audit_log l WHERE l.sequence = 3);
             DELETE FROM audit_log WHERE sequence <= 3",
            vec![AuditProblem::AnchorDiffers { sequence: 3 }],
        ),
        ("DELETE FROM audit_log; DELETE FROM audit_chains", vec![AuditProblem::NoLog]),
    ];
    let others = others.map(|(sql, problems)| (sql.to_owned(), problems));
    let mut connection = database.connect_directly().await;
    for (sql, expected) in changed.into_iter().chain(others) {
        let copy = "CREATE TEMP TABLE kept_log AS TABLE audit_log; CREATE TEMP TABLE kept_chains AS TABLE audit_chains";
        sqlx::raw_sql(copy).execute(&mut connection).await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(sql.clone())).execute(&mut connection).await.unwrap();
        assert_eq!(problems(&store).await, expected, "{sql}");
        assert_eq!(log(&store).is_used().await.unwrap(), expected != [AuditProblem::NoLog], "{sql}");
        let restore = "DELETE FROM audit_log; INSERT INTO audit_log TABLE kept_log; DROP TABLE kept_log;
                       DELETE FROM audit_chains; INSERT INTO audit_chains TABLE kept_chains; DROP TABLE kept_chains";
        sqlx::raw_sql(restore).execute(&mut connection).await.unwrap();
        assert_eq!(problems(&store).await, [], "after the change was undone");
    }
    connection.close().await.unwrap();
}

pub(crate) async fn a_log_whose_chain_was_removed_continues_after_its_latest_entry(database: &Database) {
    let store = database.open().await;
    log(&store).append(TENANT, vec![event(), event()]).await.unwrap();
    let mut connection = database.connect_directly().await;
    sqlx::raw_sql("DELETE FROM audit_chains").execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    assert!(log(&store).is_used().await.unwrap());
    assert_eq!(log(&store).append(TENANT, vec![event()]).await.unwrap(), [3]);
    assert_eq!(problems(&store).await, []);
}

pub(crate) async fn several_stores_continue_one_chain(database: &Database) {
    let (one, other) = (database.open().await, database.open().await);
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
}
