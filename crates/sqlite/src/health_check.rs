//! The health check of a database file.

mod content_checks;
mod functions;
mod integrity;
mod repair;
mod schema_objects;

use std::path::Path;

use memory_engine_core::{
    Clock, Finding, HealthReport, Index, Job, Kind, ProblemKind, QueueHealth, Result, Scope, SystemClock, Timestamp,
};
use memory_engine_sql::{
    checks::Placeholders,
    embedding_versions::StoredEmbeddingVersions,
    health,
    rows::{self, LEASE_DEAD},
};
use rusqlite::{Connection, Params, params};

use crate::{
    cache,
    database::connection,
    database::error::SqliteError,
    database::file::DatabaseFile,
    database::{index_metadata, schema},
    health_check::schema_objects::SchemaDifferences,
    vectors::embedding_versions,
};

/// Selects for one job the number of queued records, the time of the oldest, and the number of dead letters.
const QUEUE_SQL: &str = "SELECT count(*) FILTER (WHERE b.leased_until <> ?2) AS waiting,
        min(b.queued_at) FILTER (WHERE b.leased_until <> ?2) AS oldest,
        count(*) FILTER (WHERE b.leased_until = ?2) AS dead
    FROM jobs b WHERE b.job = ?1";

/// Is called with the number of completed steps and the number of all steps.
type OnProgress<'p> = &'p (dyn Fn(usize, usize) + 'p);

/// Number of steps of a check apart from the checks of the contents.
const OTHER_STEPS: usize = 3;

/// Checks a database file and counts its contents. Reads the whole file, changes nothing, and blocks the calling
/// thread. The time grows with the size of the file. Tables are read row by row; an index cache is loaded, as a search
/// loads it.
///
/// # Errors
/// `NotFound` if there is no file; otherwise those of [`SqliteStore::open`](crate::SqliteStore::open), except the
/// mismatches of indexes.
pub fn check_health(file: impl Into<DatabaseFile>) -> Result<HealthReport> {
    check_health_with_progress(file, &|_, _| {})
}

/// As [`check_health`]. Calls `on_progress` after each step with the number of completed steps and the number of all
/// steps.
///
/// # Errors
/// Those of [`check_health`].
pub fn check_health_with_progress(
    file: impl Into<DatabaseFile>,
    on_progress: &dyn Fn(usize, usize),
) -> Result<HealthReport> {
    let file = file.into().resolve()?;
    let connection = connection::open_existing(&file)?;
    functions::define(&connection).map_err(|error| SqliteError::from(error).into_error("check_health"))?;
    examine(&connection, &file, on_progress).map_err(|error| error.into_error("check_health"))
}

/// Repairs the findings that can be repaired, each kind in one transaction. Deletes no record and no tombstone. Lets
/// every process read its indexes again. Returns a description of each repair. Blocks the calling thread.
///
/// # Errors
/// As [`check_health`]; `SchemaMismatch` for a database of an earlier schema, which has to be migrated first; `Corrupt`
/// for a damaged file or missing tables.
pub fn repair(file: impl Into<DatabaseFile>) -> Result<Vec<String>> {
    let file = file.into().resolve()?;
    connection::check_exists(&file.path)?;
    let mut connection =
        connection::open_writer(&file, connection::DEFAULT_BUSY_TIMEOUT, connection::DEFAULT_PAGE_BYTES)?;
    let repaired = repair::run(&mut connection, &file, SystemClock.now());
    connection::close(connection);
    repaired.map_err(|error| error.into_error("repair"))
}

/// Returns the namespaces in a database file, ordered by tenant and user, for example to export the whole file. A
/// namespace without a user contains the records that belong to no user. Blocks the calling thread.
///
/// # Errors
/// As [`check_health`].
pub fn namespaces(file: impl Into<DatabaseFile>) -> Result<Vec<Scope>> {
    let file = file.into();
    let connection = connection::open_existing(&file)?;
    read_namespaces(&connection, &file.path).map_err(|error| error.into_error("namespaces"))
}

/// Selects the namespaces with an entry of this kind.
const NAMESPACES_WITH_KIND_SQL: &str = "SELECT DISTINCT t.name, n.user
    FROM records r JOIN namespaces n ON n.namespace = r.namespace JOIN tenants t ON t.tenant = n.tenant
    WHERE r.kind = ?1 ORDER BY t.name, n.user";

fn read_namespaces(connection: &Connection, path: &Path) -> Result<Vec<Scope>, SqliteError> {
    if schema::read_schema(connection, path)? == 0 {
        return Ok(Vec::new());
    }
    let sql = "SELECT t.name, n.user FROM namespaces n JOIN tenants t ON t.tenant = n.tenant ORDER BY t.name, n.user";
    scopes(connection, sql, [])
}

fn scopes(connection: &Connection, sql: &str, parameters: impl Params) -> Result<Vec<Scope>, SqliteError> {
    let mut namespaces = Vec::new();
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query(parameters)?;
    while let Some(row) = rows.next()? {
        let tenant: String = row.get("name")?;
        let user: String = row.get("user")?;
        namespaces.push(rows::scope([&tenant, &user, "", "", ""])?);
    }
    Ok(namespaces)
}

/// Creates the report in one transaction, so that all counts belong to one state of the file, and then checks the
/// caches. An encrypted file has none.
fn examine(
    connection: &Connection,
    file: &DatabaseFile,
    on_progress: OnProgress<'_>,
) -> Result<HealthReport, SqliteError> {
    let transaction = connection.unchecked_transaction()?;
    let mut report = report(&transaction, file, on_progress)?;
    transaction.finish()?;
    let cannot_check = [ProblemKind::FileDamaged, ProblemKind::TableMissing, ProblemKind::ColumnMissing];
    let has_caches = file.key.is_none() && report.schema == schema::SCHEMA;
    if has_caches && !report.findings.iter().any(|found| cannot_check.contains(&found.kind)) {
        // In a second, short transaction, because the files of a database in use do not stay in the state of the first.
        let transaction = connection.unchecked_transaction()?;
        let wrong = cache::check::find_wrong_caches(&transaction, &file.path)?;
        transaction.finish()?;
        let wrong = wrong.iter().map(ToString::to_string).collect();
        Finding::of_list(ProblemKind::CacheWrong, wrong).into_iter().for_each(|finding| report.add(finding));
    }
    Ok(report)
}

fn report(
    connection: &Connection,
    file: &DatabaseFile,
    on_progress: OnProgress<'_>,
) -> Result<HealthReport, SqliteError> {
    let schema = schema::read_schema(connection, &file.path)?;
    let encrypted = if file.key.is_some() { ", encrypted" } else { "" };
    let backend = format!("SQLite {}{encrypted}", rusqlite::version());
    let mut report = HealthReport::new(backend, schema, schema::SCHEMA);
    let checks = content_checks::all()?;
    let steps = checks.len() + OTHER_STEPS;
    integrity::check(connection)?.into_iter().for_each(|finding| report.add(finding));
    on_progress(1, steps);
    // Statements may fail in a damaged file, and in one that has to be migrated first.
    let is_damaged = report.findings.iter().any(|finding| finding.kind == ProblemKind::FileDamaged);
    if is_damaged || schema != schema::SCHEMA {
        return Ok(report);
    }
    let differences = SchemaDifferences::of(connection)?;
    let prevents_checks = differences.prevents_checks();
    differences.findings.into_iter().for_each(|finding| report.add(finding));
    if prevents_checks {
        return Ok(report);
    }
    let versions = index_metadata::versions(connection)?;
    count(connection, &versions, &mut report)?;
    on_progress(2, steps);
    let placeholders = Placeholders::new(&versions, Timestamp::default());
    for (done, check) in (3..).zip(&checks) {
        content_checks::find(connection, check, &placeholders)?.into_iter().for_each(|finding| report.add(finding));
        on_progress(done, steps);
    }
    health::check_spaces(&versions).into_iter().for_each(|finding| report.add(finding));
    let unfinished = scopes(connection, NAMESPACES_WITH_KIND_SQL, [Kind::FORGETTING.as_str()])?;
    health::unfinished_deletions(&unfinished).into_iter().for_each(|finding| report.add(finding));
    on_progress(steps, steps);
    Ok(report)
}

/// Counts the contents and the queues.
fn count(
    connection: &Connection,
    versions: &StoredEmbeddingVersions,
    report: &mut HealthReport,
) -> Result<(), SqliteError> {
    report.analyzer = index_metadata::maker(connection, Index::Keywords)?;
    report.space = index_metadata::maker(connection, Index::Embedding)?;
    // The statements name the first vector table; the one that serves may be the second.
    let count = |sql: &str| {
        connection.query_row(&health::on_serving_table(sql, versions.table), [], |row| row.get::<_, u64>(0))
    };
    for (name, sql) in health::COUNTS {
        report.counts.insert(name.to_owned(), count(sql)?);
    }
    if let Some(second) = &versions.second {
        let vectors = embedding_versions::count_vectors(connection, versions.table.other())?;
        health::add_second_version(report, second.clone(), vectors);
    }
    for job in Job::ALL {
        let queue = connection.query_row(QUEUE_SQL, params![job.as_str(), LEASE_DEAD], |row| {
            let oldest = row.get::<_, Option<i64>>("oldest")?.map(Timestamp::from_micros);
            Ok(QueueHealth::new(row.get("waiting")?, oldest).with_dead_letters(row.get("dead")?))
        });
        report.waiting.insert(job, queue?);
    }
    Ok(())
}
