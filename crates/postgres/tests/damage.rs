//! The health check reports every damage of a database, and the repair repairs what can be repaired. The test needs a
//! server, see `postgres/main.rs`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

#[allow(dead_code, reason = "the tests of `postgres/main.rs` use the others")]
#[path = "postgres/fixtures.rs"]
mod fixtures;

use std::{collections::BTreeSet, sync::Arc};

use libtest_mimic::{Arguments, Trial};
use memory_engine_conformance::{
    World, clock,
    damage::{Damage, answers, check_damaged_row, count_kinds, damages, fill, fill_many, index_pending, row_damages},
    space,
};
use memory_engine_core::{HealthReport, Job, ProblemKind, RecordStore, ViewSet};
use memory_engine_postgres::{PostgresOptions, PostgresStore, StoreOptions, check_health, install_views, repair};
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};

/// Number of trials that the damages are divided into.
const PARTS: usize = 4;

/// Keeps the groups of records correct while the other triggers do not run.
const KEEP_GROUPS_SQL: &str = "ALTER TABLE records ENABLE ALWAYS TRIGGER record_groups_1_delete,
    ENABLE ALWAYS TRIGGER record_groups_1_update, ENABLE ALWAYS TRIGGER record_groups_2_insert,
    ENABLE ALWAYS TRIGGER record_groups_2_update;";

/// A separate database. `CREATE DATABASE` copies the filled one for each damage.
#[derive(Debug)]
struct SeparateDatabase {
    server: String,
    name: String,
    url: String,
}

impl SeparateDatabase {
    async fn create(name: String, template: Option<&str>) -> Self {
        let server = fixtures::url().unwrap();
        let (address, parameters) = server.split_once('?').unwrap_or((&server, ""));
        let (host, _) = address.rsplit_once('/').unwrap();
        let url = format!("{host}/{name}?{parameters}").trim_end_matches('?').to_owned();
        let template = template.map(|template| format!(" TEMPLATE {template}")).unwrap_or_default();
        execute(&server, &format!("CREATE DATABASE {name}{template}")).await;
        Self { server, name, url }
    }

    async fn drop(self) {
        execute(&self.server, &format!("DROP DATABASE {} WITH (FORCE)", self.name)).await;
    }

    async fn open(&self, partitions: u32) -> (Arc<PostgresStore>, World) {
        let clock = clock();
        let store = StoreOptions::new(space(), "damage").with_clock(clock.clone());
        let options = PostgresOptions::default().with_max_connections(4).with_partitions(partitions);
        let store = Arc::new(PostgresStore::connect_with(&self.url, store, options).await.unwrap());
        let world = World::new(store.clone(), store.clone(), store.clone(), clock)
            .with_synonyms(store.clone())
            .with_graph(store.clone())
            .in_one_database();
        (store, world)
    }

    async fn fill(&self, partitions: u32) {
        let (store, world) = self.open(partitions).await;
        fill(&world).await;
        store.close().await;
    }

    /// Computes the queued index entries, and returns the answers of the stores.
    async fn indexed_answers(&self) -> Vec<String> {
        let (store, world) = self.open(0).await;
        index_pending(&world).await;
        let answers = answers(&world).await;
        store.close().await;
        answers
    }

    async fn check_health(&self) -> HealthReport {
        check_health(&self.url, &PostgresOptions::default()).await.unwrap()
    }

    async fn repair(&self) -> Vec<String> {
        repair(&self.url, &PostgresOptions::default()).await.unwrap()
    }

    /// Counts the records and tombstones, which no repair removes.
    async fn count_acknowledged(&self) -> (i64, i64) {
        let mut connection = PgConnection::connect(&self.url).await.unwrap();
        let sql = "SELECT (SELECT count(*) FROM records) AS records, (SELECT count(*) FROM tombstones) AS tombstones";
        let row = sqlx::query(sql).fetch_one(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        (row.get("records"), row.get("tombstones"))
    }
}

async fn execute(url: &str, sql: &str) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

fn kinds(report: &HealthReport) -> BTreeSet<ProblemKind> {
    report.findings.iter().map(|finding| finding.kind).collect()
}

async fn check_damage(damage: Damage, database: SeparateDatabase, expected: Arc<Vec<String>>) {
    let name = damage.name;
    // Without this setting, the foreign keys would prevent the damage.
    let settings = "SET session_replication_role = replica; SET allow_system_table_mods = on;";
    let sql = format!("{settings} {KEEP_GROUPS_SQL} {}", damage.sql);
    execute(&database.url, &sql).await;
    let counts = database.count_acknowledged().await;
    let report = database.check_health().await;
    assert_eq!(kinds(&report), damage.kinds, "{name}: {:?}", report.problems);
    assert_eq!(report.findings.len(), report.problems.len(), "{name}: {:?}", report.problems);
    let cannot_repair = [ProblemKind::TableMissing, ProblemKind::ColumnMissing];
    if damage.kinds.iter().any(|kind| cannot_repair.contains(kind)) {
        assert!(repair(&database.url, &PostgresOptions::default()).await.is_err(), "{name}");
        return database.drop().await;
    }
    let repaired = database.repair().await;
    assert!(repaired.iter().all(|text| !text.contains("the repair failed")), "{name}: {repaired:?}");
    assert_eq!(database.count_acknowledged().await, counts, "{name}");
    let report = database.check_health().await;
    let manual: BTreeSet<_> = damage.kinds.iter().copied().filter(|kind| !kind.remedy().is_repair()).collect();
    assert_eq!(kinds(&report), manual, "{name} after the repair: {:?}", report.problems);
    if damage.is_repairable() {
        assert!(!repaired.is_empty(), "{name}");
        assert_eq!(database.indexed_answers().await, *expected, "{name}: {repaired:?}");
        assert_eq!(database.check_health().await.problems, Vec::<String>::new(), "{name}");
    }
    assert_eq!(database.repair().await, Vec::<String>::new(), "{name}: a second repair");
    database.drop().await;
}

/// Applies every [`PARTS`]-th damage, from number `part`.
async fn damages_are_reported_and_repaired(part: usize) {
    let name = |number: usize| format!("damage_{}_{part}_{number}", std::process::id());
    let damages = damages("postgres");
    assert!(count_kinds(&damages) >= 50, "{}", count_kinds(&damages));
    let template = SeparateDatabase::create(name(damages.len()), None).await;
    template.fill(0).await;
    for set in ViewSet::ALL {
        install_views(&template.url, &PostgresOptions::default(), set).await.unwrap();
    }
    assert_eq!(template.check_health().await.problems, Vec::<String>::new(), "unusual contents are no problem");
    assert_eq!(template.repair().await, Vec::<String>::new());
    let undamaged = SeparateDatabase::create(name(damages.len() + 1), Some(&template.name)).await;
    let expected = Arc::new(undamaged.indexed_answers().await);
    undamaged.drop().await;
    let mut failed = Vec::new();
    for (number, damage) in damages.into_iter().enumerate().skip(part).step_by(PARTS) {
        let damage_name = damage.name;
        let database = SeparateDatabase::create(name(number), Some(&template.name)).await;
        // A task, so that the other damages are checked after a failure.
        let check = tokio::spawn(check_damage(damage, database, expected.clone()));
        failed.extend(check.await.is_err().then_some(damage_name));
    }
    template.drop().await;
    assert!(failed.is_empty(), "{failed:?}");
}

/// Applies every damage of a single row, and checks that the others are read and everything is deleted.
async fn a_damaged_row_costs_one_row_and_can_be_deleted() {
    let name = |number: usize| format!("damage_{}_row_{number}", std::process::id());
    let mut damages = row_damages("postgres");
    // The operator of the distance fails for a vector of another length: vector searches fail until the repair.
    damages.retain(|damage| damage.name != "a vector is cut");
    assert!(damages.len() > 40, "{}", damages.len());
    let template = SeparateDatabase::create(name(damages.len()), None).await;
    template.fill(0).await;
    let mut columns = BTreeSet::new();
    for (number, damage) in damages.into_iter().enumerate() {
        let database = SeparateDatabase::create(name(number), Some(&template.name)).await;
        let settings = "SET session_replication_role = replica; SET allow_system_table_mods = on;";
        execute(&database.url, &format!("{settings} {KEEP_GROUPS_SQL} {}", damage.sql)).await;
        let (store, world) = database.open(0).await;
        columns.extend(check_damaged_row(&world, damage.name).await.into_iter().map(|record| record.column));
        store.close().await;
        let mut connection = PgConnection::connect(&database.url).await.unwrap();
        for table in ["records", "jobs"] {
            let sql = AssertSqlSafe(format!("SELECT count(*) FROM {table}"));
            let rows: i64 = sqlx::query_scalar(sql).fetch_one(&mut connection).await.unwrap();
            assert_eq!(rows, 0, "{}: {table}", damage.name);
        }
        connection.close().await.unwrap();
        database.drop().await;
    }
    template.drop().await;
    let expected = ["derived_from", "metadata", "revision", "round", "state", "tags", "trust"];
    assert!(expected.iter().all(|column| columns.contains(*column)), "{columns:?}");
}

/// Damages more rows than a page of the check, and than one pass of the repair.
async fn many_damaged_rows_are_repaired() {
    const COUNT: u32 = 2300;
    let database = SeparateDatabase::create(format!("damage_{}_many", std::process::id()), None).await;
    let (store, world) = database.open(0).await;
    fill_many(&world, COUNT).await;
    store.close().await;
    assert_eq!(database.check_health().await.problems, Vec::<String>::new());
    execute(&database.url, "UPDATE records SET folded = 'other'; UPDATE keyword_documents SET length = 77").await;
    let report = database.check_health().await;
    let counts: Vec<_> = report.findings.iter().map(|finding| (finding.kind, finding.count)).collect();
    let expected = [ProblemKind::RecordHashWrong, ProblemKind::KeywordLengthWrong].map(|kind| (kind, COUNT.into()));
    assert_eq!(counts, expected);
    let repaired = database.repair().await;
    assert!(repaired.len() > 2 && repaired.iter().all(|text| !text.contains("the repair failed")), "{repaired:?}");
    let report = database.check_health().await;
    assert_eq!((report.problems, report.waiting[&Job::Keywords].records), (Vec::new(), COUNT.into()));
    database.drop().await;
}

/// The list of the health check.
const SCHEMA_OBJECTS: &str = "data/schema_objects.tsv";

/// Checks a database with partitions, and compares its objects with the list of the health check. With `WRITE_GOLDEN` in
/// the environment, it writes the list instead.
async fn a_new_database_has_the_listed_objects() {
    let database = SeparateDatabase::create(format!("damage_{}_new", std::process::id()), None).await;
    database.fill(4).await;
    let report = database.check_health().await;
    assert_eq!((report.problems, report.partitions), (Vec::new(), 4));
    let mut connection = PgConnection::connect(&database.url).await.unwrap();
    let rows = sqlx::raw_sql(include_str!("../data/schema_objects.sql")).fetch_all(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    let line = |column: &str, row: &sqlx::postgres::PgRow| row.get::<String, _>(column);
    let is_own = |line: &str| {
        let other = ["index\trecords_by_trigram", "table\tmemory_schema", "constraint\tmemory_schema."];
        // The extensions are in the same schema.
        !other.iter().any(|name| line.starts_with(name)) && !line.starts_with("function\t")
    };
    let found: BTreeSet<String> = rows
        .iter()
        .map(|row| format!("{}\t{}\t{}", line("type", row), line("name", row), line("definition", row)))
        .filter(|line| is_own(line))
        .collect();
    let list = std::fs::read_to_string(SCHEMA_OBJECTS).unwrap();
    let (own, others): (BTreeSet<&str>, BTreeSet<&str>) = list.lines().partition(|line| is_own(line));
    if std::env::var_os("WRITE_GOLDEN").is_some() {
        let mut lines: Vec<&str> = found.iter().map(String::as_str).chain(others).collect();
        // A repair creates the objects in this order, and a foreign key needs the key that it names.
        lines.sort_by_key(|line| (line.split('\t').next(), line.contains("\tFOREIGN KEY"), *line));
        std::fs::write(SCHEMA_OBJECTS, lines.join("\n") + "\n").unwrap();
    } else {
        assert_eq!(found, own.into_iter().map(str::to_owned).collect::<BTreeSet<_>>());
    }
    database.drop().await;
}

fn main() {
    let arguments = Arguments::from_args();
    let has_url = fixtures::url().is_some();
    let must_fail = !has_url && fixtures::is_required();
    let trial = |name: String, run: Box<dyn FnOnce() + Send>| {
        let trial = Trial::test(name, move || {
            fixtures::url().ok_or("postgres is required (CONFORMANCE_REQUIRE), and DATABASE_URL names no server")?;
            run();
            Ok(())
        });
        trial.with_ignored_flag(!has_url && !must_fail)
    };
    let mut trials: Vec<Trial> = (0..PARTS)
        .map(|part| {
            let run = move || fixtures::block_on(damages_are_reported_and_repaired(part));
            trial(format!("damage::every_damage_is_reported_and_repaired_{}", part + 1), Box::new(run))
        })
        .collect();
    let run = || fixtures::block_on(a_new_database_has_the_listed_objects());
    trials.push(trial("damage::a_new_database_has_the_listed_objects".into(), Box::new(run)));
    let run = || fixtures::block_on(a_damaged_row_costs_one_row_and_can_be_deleted());
    trials.push(trial("damage::a_damaged_row_costs_one_row_and_can_be_deleted".into(), Box::new(run)));
    let run = || fixtures::block_on(many_damaged_rows_are_repaired());
    trials.push(trial("damage::many_damaged_rows_are_repaired".into(), Box::new(run)));
    libtest_mimic::run(&arguments, trials).exit();
}
