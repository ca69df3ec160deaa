//! The health check reports every damage of a database, and the repair repairs what can be repaired.

use std::{
    cell::RefCell,
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use memory_engine_conformance::{
    World, clock,
    damage::{Damage, answers, check_damaged_row, count_kinds, damages, fill, fill_many, index_pending, row_damages},
    space,
};
use memory_engine_core::{ErrorKind, HealthReport, Job, ProblemKind, RecordStore, ViewSet};
use memory_engine_sqlite::{
    SqliteStore, StoreOptions, check_health, check_health_with_progress, install_views, repair,
};
use rusqlite::Connection;

async fn open(path: &Path) -> (Arc<SqliteStore>, World) {
    let clock = clock();
    let options = StoreOptions::new(space(), "damage").with_clock(clock.clone());
    let store = Arc::new(SqliteStore::open(path, options).await.unwrap());
    let world = World::new(store.clone(), store.clone(), store.clone(), clock)
        .with_synonyms(store.clone())
        .with_graph(store.clone())
        .in_one_database();
    (store, world)
}

/// Creates a filled database without a write-ahead log.
async fn filled(directory: &Path) -> PathBuf {
    let path = directory.join("filled.db");
    let (store, world) = open(&path).await;
    fill(&world).await;
    store.close().await;
    install_views(&path, ViewSet::Companion).unwrap();
    install_views(&path, ViewSet::Story).unwrap();
    path
}

/// Computes the queued index entries, and returns the answers of the stores.
async fn indexed_answers(path: &Path) -> Vec<String> {
    let (store, world) = open(path).await;
    index_pending(&world).await;
    let answers = answers(&world).await;
    store.close().await;
    answers
}

fn kinds(report: &HealthReport) -> BTreeSet<ProblemKind> {
    report.findings.iter().map(|finding| finding.kind).collect()
}

fn execute(path: &Path, sql: &str) {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON").unwrap();
    connection.execute_batch(sql).unwrap();
}

/// Counts the records and tombstones, which no repair removes.
fn count_acknowledged(path: &Path) -> (u64, u64) {
    let connection = Connection::open(path).unwrap();
    let sql = "SELECT (SELECT count(*) FROM records), (SELECT count(*) FROM tombstones)";
    connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
}

async fn check_damage(damage: Damage, path: PathBuf, expected: Arc<Vec<String>>) {
    let (name, path) = (damage.name, &path);
    execute(path, damage.sql);
    let counts = count_acknowledged(path);
    let report = check_health(path).unwrap();
    assert_eq!(kinds(&report), damage.kinds, "{name}: {:?}", report.problems);
    assert_eq!(report.findings.len(), report.problems.len(), "{name}: {:?}", report.problems);
    let cannot_repair = [ProblemKind::TableMissing, ProblemKind::ColumnMissing];
    if damage.kinds.iter().any(|kind| cannot_repair.contains(kind)) {
        assert!(repair(path).is_err(), "{name}");
        return;
    }
    let repaired = repair(path).unwrap();
    assert!(repaired.iter().all(|text| !text.contains("the repair failed")), "{name}: {repaired:?}");
    assert_eq!(count_acknowledged(path), counts, "{name}");
    let report = check_health(path).unwrap();
    let manual: BTreeSet<_> = damage.kinds.iter().copied().filter(|kind| !kind.remedy().is_repair()).collect();
    assert_eq!(kinds(&report), manual, "{name} after the repair: {:?}", report.problems);
    if damage.is_repairable() {
        assert!(!repaired.is_empty(), "{name}");
        assert_eq!(indexed_answers(path).await, *expected, "{name}: {repaired:?}");
        assert_eq!(check_health(path).unwrap().problems, Vec::<String>::new(), "{name}");
    }
    assert_eq!(repair(path).unwrap(), Vec::<String>::new(), "{name}: a second repair");
}

#[tokio::test]
async fn every_damage_is_reported_and_repaired() {
    let directory = tempfile::tempdir().unwrap();
    let filled = filled(directory.path()).await;
    let undamaged = check_health(&filled).unwrap();
    assert_eq!(undamaged.problems, Vec::<String>::new(), "unusual contents are no problem");
    assert_eq!(repair(&filled).unwrap(), Vec::<String>::new());
    let copy = |number: usize| {
        let path = directory.path().join(format!("{number}.db"));
        fs::copy(&filled, &path).unwrap();
        path
    };
    let damages = damages("sqlite");
    assert!(count_kinds(&damages) >= 55, "{}", count_kinds(&damages));
    let expected = Arc::new(indexed_answers(&copy(damages.len())).await);
    let mut failed = Vec::new();
    for (number, damage) in damages.into_iter().enumerate() {
        let name = damage.name;
        // A task, so that the other damages are checked after a failure.
        let check = tokio::spawn(check_damage(damage, copy(number), expected.clone()));
        failed.extend(check.await.is_err().then_some(name));
    }
    assert!(failed.is_empty(), "{failed:?}");
}

/// Damages that the health check does not tell apart from others.
const MORE_DAMAGES: [(&str, &str); 4] = [
    ("a session is not UTF-8", "UPDATE scopes SET session = CAST(x'6dff' AS TEXT) WHERE session = 'monday'"),
    ("a kind is not UTF-8", "UPDATE records SET kind = CAST(x'74ff' AS TEXT) WHERE text = 'old phone number'"),
    ("an id has 5 bytes", "UPDATE records SET id = x'0102030405' WHERE text = 'old phone number'"),
    ("metadata of mem0 are cut", "UPDATE records SET metadata = '{\"mem0.app\":' WHERE text = 'old phone number'"),
];

#[tokio::test]
async fn a_damaged_row_costs_one_row_and_can_be_deleted() {
    let directory = tempfile::tempdir().unwrap();
    let filled = filled(directory.path()).await;
    let listed = row_damages("sqlite").into_iter().map(|damage| (damage.name, damage.sql));
    let damages: Vec<_> = listed.chain(MORE_DAMAGES).collect();
    assert!(damages.len() > 50, "{}", damages.len());
    let mut columns = BTreeSet::new();
    for (number, (name, sql)) in damages.into_iter().enumerate() {
        let path = directory.path().join(format!("row-{number}.db"));
        fs::copy(&filled, &path).unwrap();
        execute(&path, sql);
        let (store, world) = open(&path).await;
        columns.extend(check_damaged_row(&world, name).await.into_iter().map(|record| record.column));
        store.close().await;
        let connection = Connection::open(&path).unwrap();
        for table in ["records", "keyword_documents", "vectors", "jobs", "graph_entities", "derivations"] {
            let sql = format!("SELECT count(*) FROM {table} x");
            let rows: i64 = connection.query_row(&sql, [], |row| row.get(0)).unwrap();
            assert_eq!(rows, 0, "{name}: {table}");
        }
    }
    let expected = ["derived_from", "entities", "id", "metadata", "round", "state", "tags", "text", "trust"];
    assert!(expected.iter().all(|column| columns.contains(*column)), "{columns:?}");
}

#[tokio::test]
async fn many_damaged_rows_are_repaired_and_progress_is_reported() {
    const COUNT: u32 = 2300;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("many.db");
    let (store, world) = open(&path).await;
    fill_many(&world, COUNT).await;
    store.close().await;
    execute(&path, "UPDATE keyword_documents SET length = 77; UPDATE vectors SET vector = zeroblob(32)");
    let steps = RefCell::new(Vec::new());
    let report = check_health_with_progress(&path, &|done, total| steps.borrow_mut().push((done, total))).unwrap();
    let counts: Vec<_> = report.findings.iter().map(|finding| (finding.kind, finding.count)).collect();
    let expected = [ProblemKind::KeywordLengthWrong, ProblemKind::VectorUnreadable].map(|kind| (kind, COUNT.into()));
    assert_eq!(counts, expected);
    assert!(report.findings.iter().all(|finding| finding.examples.len() == 2), "{:?}", report.findings);
    let steps = steps.into_inner();
    let total = steps[0].1;
    assert!(steps.iter().all(|step| step.1 == total) && steps.last() == Some(&(total, total)), "{steps:?}");
    assert!(steps.windows(2).all(|pair| pair[0].0 < pair[1].0), "{steps:?}");
    repair(&path).unwrap();
    let report = check_health(&path).unwrap();
    let queued = [Job::Keywords, Job::Embedding].map(|job| report.waiting[&job].records);
    assert_eq!((report.problems, queued), (Vec::new(), [COUNT.into(); 2]));
}

/// Deletes the entry of an index from the schema, so that the following changes do not maintain it.
fn without_index(path: &Path, index: &str, change: &str) {
    let find = format!("SELECT rootpage, sql, tbl_name FROM sqlite_schema WHERE name = '{index}'");
    let connection = Connection::open(path).unwrap();
    let (root, sql, table): (i64, String, String) =
        connection.query_row(&find, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    let edit = |sql: &str, parameters: &[&dyn rusqlite::ToSql]| {
        let connection = Connection::open(path).unwrap();
        connection.execute_batch("PRAGMA writable_schema = ON").unwrap();
        connection.execute(sql, parameters).unwrap();
    };
    drop(connection);
    edit(&format!("DELETE FROM sqlite_schema WHERE name = '{index}'"), &[]);
    execute(path, change);
    let restore = "INSERT INTO sqlite_schema (type, name, tbl_name, rootpage, sql) VALUES ('index', ?1, ?2, ?3, ?4)";
    edit(restore, &[&index, &table, &root, &sql]);
}

#[tokio::test]
async fn an_index_that_disagrees_with_its_table_is_rebuilt() {
    let directory = tempfile::tempdir().unwrap();
    let path = filled(directory.path()).await;
    let copy = directory.path().join("copy.db");
    fs::copy(&path, &copy).unwrap();
    let expected = indexed_answers(&copy).await;
    let change =
        "UPDATE graph_edges SET relation = relation; INSERT INTO graph_edges (record, source, relation, target,
        scope) SELECT record, target, 'drives', source, scope FROM graph_edges LIMIT 1";
    without_index(&path, "graph_edges_by_source", change);
    let report = check_health(&path).unwrap();
    assert_eq!(kinds(&report), BTreeSet::from([ProblemKind::IndexInvalid]), "{:?}", report.problems);
    assert_eq!(report.findings[0].examples, ["graph_edges_by_source"]);
    assert_eq!(repair(&path).unwrap().len(), 1);
    assert_eq!(check_health(&path).unwrap().problems, Vec::<String>::new());
    execute(&path, "DELETE FROM graph_edges WHERE relation = 'drives'");
    assert_eq!(indexed_answers(&path).await, expected);
}

#[tokio::test]
async fn damaged_pages_are_reported_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = filled(directory.path()).await;
    let connection = Connection::open(&path).unwrap();
    let page_bytes: usize = connection.query_row("PRAGMA page_size", [], |row| row.get(0)).unwrap();
    let root = |table: &str| -> usize {
        let sql = format!("SELECT rootpage FROM sqlite_schema WHERE name = '{table}'");
        connection.query_row(&sql, [], |row| row.get(0)).unwrap()
    };
    let (records, vectors) = (root("records"), root("vectors"));
    drop(connection);
    let undamaged = fs::read(&path).unwrap();
    let overwrite = |page: usize, offset: usize, bytes: &[u8]| {
        let mut file = undamaged.clone();
        let start = (page - 1) * page_bytes + offset;
        file[start..start + bytes.len()].copy_from_slice(bytes);
        fs::write(&path, file).unwrap();
    };
    // The number of cells, an offset of a cell, and a whole page.
    for (page, offset, bytes) in
        [(records, 3, &[0xff, 0xff][..]), (vectors, 8, &[0xff, 0xfe]), (vectors, 0, &vec![0x5a; page_bytes])]
    {
        overwrite(page, offset, bytes);
        let report = check_health(&path).unwrap();
        assert!(kinds(&report).contains(&ProblemKind::FileDamaged), "page {page}: {:?}", report.problems);
        let damaged = fs::read(&path).unwrap();
        assert_eq!(repair(&path).unwrap_err().kind(), ErrorKind::Corrupt);
        assert_eq!(fs::read(&path).unwrap(), damaged, "a repair does not change a damaged file");
    }
}
