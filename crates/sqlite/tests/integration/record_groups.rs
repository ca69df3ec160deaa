//! Groups of records: migration, health check and repair.

use std::path::Path;

use memory_engine_core::{Kind, ProblemKind, Record, RecordGroup, RecordStore, Scope};
use memory_engine_sqlite::{SCHEMA, SqliteStore, check_health, migrate_down, repair};
use rusqlite::Connection;

use crate::fixtures::{lin, open, turn, write};

fn tenant_wide() -> Scope {
    Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap()
}

/// Stores records of two users, three sessions and an application. Returns the groups counted from them.
async fn fill(path: &Path) -> Vec<RecordGroup> {
    let store = open(path).await;
    let mut records: Vec<Record> = Vec::new();
    for number in 0..12 {
        let user = if number < 9 { lin() } else { Scope::user("mo").unwrap() };
        let scope = user.with_session(format!("s{}", number % 3)).unwrap();
        let mut record = turn(&scope, &format!("message {number}"));
        if number % 4 == 0 {
            record.kind = Kind::NOTE;
            record.metadata.insert(RecordGroup::APP_KEY.into(), "shop".into());
            record.metadata.insert(RecordGroup::EDITED_KEY.into(), number.into());
        }
        records.push(record);
    }
    RecordStore::put(&store, &tenant_wide(), records.iter().map(write).collect()).await.unwrap();
    store.close().await;
    RecordGroup::collect(&records)
}

async fn stored_groups(store: &SqliteStore) -> Vec<RecordGroup> {
    store.record_groups(&tenant_wide()).await.unwrap()
}

fn execute(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

#[tokio::test]
async fn wrong_groups_are_reported_and_repaired() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let expected = fill(&path).await;
    assert_eq!(check_health(&path).unwrap().problems, Vec::<String>::new());
    assert_eq!(repair(&path).unwrap(), Vec::<String>::new());
    let faults = [
        (1, "UPDATE record_groups SET records = records + 1 WHERE record_group = 1"),
        (1, "UPDATE record_groups SET oldest = oldest - 1 WHERE record_group = 2"),
        (1, "UPDATE record_groups SET edited_at = 99 WHERE record_group = 3"),
        (2, "DELETE FROM record_groups WHERE record_group IN (1, 2)"),
        (
            1,
            "INSERT INTO record_groups (scope, kind, state, records, oldest, newest) \
          VALUES (1, 'none', 'active', 3, 0, 0)",
        ),
        (
            1,
            "INSERT INTO record_groups (scope, kind, state, app, records, oldest, newest, edited_at) \
          SELECT scope, kind, state, app, records, oldest, newest, edited_at FROM record_groups LIMIT 1",
        ),
    ];
    for (count, sql) in faults {
        execute(&path, sql);
        let report = check_health(&path).unwrap();
        assert_eq!((report.repairable, report.problems.len()), (1, 1), "{sql}: {:?}", report.problems);
        let finding = &report.findings[0];
        assert_eq!((finding.kind, finding.count), (ProblemKind::RecordGroupsWrong, count), "{sql}");
        assert_eq!(repair(&path).unwrap(), [finding.repaired()], "{sql}");
        let report = check_health(&path).unwrap();
        assert_eq!((report.repairable, report.problems.len()), (0, 0), "{sql}: {:?}", report.problems);
        let store = open(&path).await;
        assert_eq!(stored_groups(&store).await, expected, "{sql}");
        store.close().await;
    }
}

#[tokio::test]
async fn an_earlier_schema_is_not_repaired() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    fill(&path).await;
    migrate_down(&path, SCHEMA - 1).unwrap();
    assert_eq!(check_health(&path).unwrap().problems, Vec::<String>::new());
    assert!(repair(&path).is_err());
}
