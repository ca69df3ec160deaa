//! Groups of records: health check and repair.

use memory_engine_core::{Kind, ProblemKind, Record, RecordGroup, RecordStore, Scope};
use memory_engine_postgres::{PostgresStore, check_health, repair};

use crate::fixtures::{Database, lin, turn, write};

fn tenant_wide() -> Scope {
    Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap()
}

/// Stores records of two users, three sessions and an application. Returns the groups counted from them.
async fn fill(store: &PostgresStore) -> Vec<RecordGroup> {
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
    store.put(&tenant_wide(), records.iter().map(write).collect()).await.unwrap();
    RecordGroup::collect(&records)
}

async fn stored_groups(store: &PostgresStore) -> Vec<RecordGroup> {
    store.record_groups(&tenant_wide()).await.unwrap()
}

pub(crate) async fn wrong_groups_are_reported_and_repaired(database: &Database) {
    let store = database.open().await;
    let expected = fill(&store).await;
    let options = database.options();
    assert_eq!(check_health(&database.url, &options).await.unwrap().problems, Vec::<String>::new());
    assert_eq!(repair(&database.url, &options).await.unwrap(), Vec::<String>::new());
    let faults = [
        (9, "UPDATE record_groups SET records = records + 1"),
        (9, "UPDATE record_groups SET oldest = oldest - 1"),
        (3, "UPDATE record_groups SET edited_at = 99 WHERE edited_at IS NOT NULL"),
        (3, "DELETE FROM record_groups WHERE kind = 'note'"),
        (
            1,
            "INSERT INTO record_groups (namespace, scope, kind, state, records, oldest, newest)
             SELECT namespace, scope, 'none', 'active', 3, 0, 0 FROM scopes LIMIT 1",
        ),
        (1, "INSERT INTO record_groups SELECT * FROM record_groups LIMIT 1"),
    ];
    for (count, sql) in faults {
        sqlx::raw_sql(sql).execute(&mut database.connect_directly().await).await.unwrap();
        let report = check_health(&database.url, &options).await.unwrap();
        assert_eq!((report.repairable, report.problems.len()), (1, 1), "{sql}: {:?}", report.problems);
        let finding = &report.findings[0];
        assert_eq!((finding.kind, finding.count), (ProblemKind::RecordGroupsWrong, count), "{sql}");
        assert_eq!(repair(&database.url, &options).await.unwrap(), [finding.repaired()], "{sql}");
        let report = check_health(&database.url, &options).await.unwrap();
        assert_eq!((report.repairable, report.problems), (0, Vec::new()), "{sql}");
        assert_eq!(stored_groups(&store).await, expected, "{sql}");
    }
}
