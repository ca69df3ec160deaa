//! The health check of a database file.

use std::path::Path;

use memory_engine_core::{Error, ErrorKind, HealthReport, Index, Job, Kind, QueueHealth, Result, Scope, Timestamp};
use memory_engine_sql::{
    count_indexed,
    embedding_versions::EmbeddingVersions,
    health, indexed,
    rows::{self, LEASE_DEAD},
};
use rusqlite::{Connection, Params, params};

use crate::{
    cache::check,
    database::connection,
    database::error::SqliteError,
    database::location::Location,
    database::{index_metadata, schema},
    records::groups,
    vectors::embedding_versions,
};

/// Queries that count inconsistent rows, each with the text of its problem.
const INCONSISTENCIES: [(&str, &str); 4] = [
    (
        concat!(
            count_indexed!(),
            " AND NOT EXISTS (SELECT 1 FROM keyword_documents k WHERE k.record = r.record)
             AND NOT EXISTS (SELECT 1 FROM backlog b WHERE b.record = r.record AND b.job = 'keywords')"
        ),
        health::NOT_IN_KEYWORD_INDEX,
    ),
    (
        concat!(
            count_indexed!(),
            " AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.record = r.record)
             AND NOT EXISTS (SELECT 1 FROM backlog b WHERE b.record = r.record AND b.job = 'embedding')"
        ),
        health::WITHOUT_VECTOR,
    ),
    (
        concat!(
            "SELECT count(*) FROM keyword_documents k JOIN records r ON r.record = k.record WHERE NOT ",
            indexed!()
        ),
        health::INACTIVE_IN_KEYWORD_INDEX,
    ),
    (
        concat!("SELECT count(*) FROM vectors v JOIN records r ON r.record = v.record WHERE NOT ", indexed!()),
        health::INACTIVE_WITH_VECTOR,
    ),
];

/// Selects for one job the number of queued records, the time of the oldest, and the number of dead letters.
const QUEUE_SQL: &str = "SELECT count(*) FILTER (WHERE b.leased_until <> ?2) AS waiting,
        min(b.queued_at) FILTER (WHERE b.leased_until <> ?2) AS oldest,
        count(*) FILTER (WHERE b.leased_until = ?2) AS dead
    FROM backlog b WHERE b.job = ?1";

/// [`QUEUE_SQL`] for an earlier schema, which stores the write time of each record but not the time of queuing.
const OLD_QUEUE_SQL: &str = "SELECT count(*) FILTER (WHERE b.leased_until <> ?2) AS waiting,
        min(r.recorded_at) FILTER (WHERE b.leased_until <> ?2) AS oldest,
        count(*) FILTER (WHERE b.leased_until = ?2) AS dead
    FROM backlog b JOIN records r ON r.record = b.record WHERE b.job = ?1";

/// Maximum number of messages about a damaged file in a report.
const MAX_DAMAGE_MESSAGES: usize = 5;

/// Checks a database file and counts its contents. Reads the whole file, changes nothing, and blocks the calling
/// thread.
///
/// # Errors
/// `NotFound` if there is no file; otherwise those of [`SqliteStore::open`](crate::SqliteStore::open), except the
/// mismatches of indexes.
pub fn checkup(path: &Path) -> Result<HealthReport> {
    let path = Location::resolve(path)?.path;
    let connection = connection::open_existing(&path)?;
    examine(&connection, &path).map_err(|error| error.into_error("checkup"))
}

/// Counts the groups of records again if they differ from the records, and rebuilds the index caches that disagree with
/// the database; then every process reads its indexes again. Returns a description of each. Blocks the calling thread.
///
/// # Errors
/// As [`checkup`]; `SchemaMismatch` for a database of an earlier schema, which has to be migrated first.
pub fn repair(path: &Path) -> Result<Vec<String>> {
    let path = Location::resolve(path)?.path;
    connection::check_exists(&path)?;
    let mut connection =
        connection::open_writer(&path, connection::DEFAULT_BUSY_TIMEOUT, connection::DEFAULT_PAGE_BYTES)?;
    let repaired = repair_all(&mut connection, &path).map_err(|error| error.into_error("repair"));
    connection::close(connection);
    repaired
}

fn repair_all(connection: &mut Connection, path: &Path) -> Result<Vec<String>, SqliteError> {
    let schema = schema::read_schema(connection, path)?;
    if schema != schema::SCHEMA {
        let message = format!("the database has schema {schema}, not {}; migrate it first", schema::SCHEMA);
        return Err(Error::new(ErrorKind::SchemaMismatch, "repair", message).into());
    }
    let mut repaired = Vec::new();
    let mut wrong = Vec::new();
    schema::in_transaction(connection, |transaction| {
        repaired.extend(groups::repair(transaction)?);
        wrong = check::find_wrong_caches(transaction, path)?;
        if wrong.is_empty() { Ok(()) } else { check::discard_caches(transaction, path) }
    })?;
    // In a second transaction, because a cache must not contain changes that may be rolled back.
    schema::in_transaction(connection, |transaction| check::rebuild_caches(transaction, path, &wrong))?;
    repaired.extend(wrong.iter().map(ToString::to_string));
    Ok(repaired)
}

/// Returns the namespaces in a database file, ordered by tenant and user, for example to export the whole file. A
/// namespace without a user contains the records that belong to no user. Blocks the calling thread.
///
/// # Errors
/// As [`checkup`].
pub fn namespaces(path: &Path) -> Result<Vec<Scope>> {
    let connection = connection::open_existing(path)?;
    read_namespaces(&connection, path).map_err(|error| error.into_error("namespaces"))
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

/// Creates the report in one transaction, so that all counts belong to one state of the file.
fn examine(connection: &Connection, path: &Path) -> Result<HealthReport, SqliteError> {
    let transaction = connection.unchecked_transaction()?;
    let report = report(&transaction, path)?;
    transaction.finish()?;
    Ok(report)
}

fn report(connection: &Connection, path: &Path) -> Result<HealthReport, SqliteError> {
    let schema = schema::read_schema(connection, path)?;
    let mut report = HealthReport::new(format!("SQLite {}", rusqlite::version()), schema, schema::SCHEMA);
    let mut statement = connection.prepare("PRAGMA quick_check(100)")?;
    let results = statement.query_map([], |row| row.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<_>>>()?;
    // The messages of SQLite name tables and pages, and contain no text of records.
    for damage in results.iter().filter(|result| *result != "ok").take(MAX_DAMAGE_MESSAGES) {
        report.problems.push(format!("the file is damaged: {damage}; restore it from a backup"));
    }
    if schema == 0 {
        return Ok(report);
    }
    report.analyzer = index_metadata::maker(connection, Index::Keywords)?;
    report.space = index_metadata::maker(connection, Index::Embedding)?;
    let versions = if schema >= 7 { index_metadata::versions(connection)? } else { EmbeddingVersions::default() };
    // The statements name the first vector table; the one that serves may be the second.
    let count = |sql: &str| {
        connection.query_row(&health::on_serving_table(sql, versions.table), [], |row| row.get::<_, u64>(0))
    };
    for (name, sql) in health::COUNTS {
        report.counts.insert(name.to_owned(), count(sql)?);
    }
    if let Some(second) = &versions.second {
        let vectors = embedding_versions::count_vectors(connection, versions.table.other())?;
        health::add_second_version(&mut report, second.clone(), vectors);
    }
    if schema >= 2 {
        report.counts.insert("synonym groups".to_owned(), count("SELECT count(*) FROM synonym_groups")?);
    }
    if schema >= 3 {
        let mentions = count("SELECT count(*) FROM graph_entities")?;
        report.counts.insert("mentions of entities".to_owned(), mentions);
        let stale =
            "SELECT count(*) FROM graph_entities g JOIN records r ON r.record = g.record WHERE r.state <> 'active'";
        report.blame(count(stale)?, health::INACTIVE_IN_GRAPH);
    }
    let queue_sql = if schema == schema::SCHEMA { QUEUE_SQL } else { OLD_QUEUE_SQL };
    for job in Job::ALL {
        let queue = connection.query_row(queue_sql, params![job.as_str(), LEASE_DEAD], |row| {
            let oldest = row.get::<_, Option<i64>>("oldest")?.map(Timestamp::from_micros);
            Ok(QueueHealth::new(row.get("waiting")?, oldest).with_given_up(row.get("dead")?))
        });
        report.waiting.insert(job, queue?);
    }
    for (sql, problem) in INCONSISTENCIES {
        report.blame(count(sql)?, problem);
    }
    for namespace in scopes(connection, NAMESPACES_WITH_KIND_SQL, [Kind::FORGETTING.as_str()])? {
        report.problems.push(health::unfinished_deletion(&namespace));
    }
    if schema == schema::SCHEMA {
        let wrong = check::find_wrong_caches(connection, path)?;
        report.repairable = wrong.len() as u64;
        let wrong_groups = groups::count_differences(connection)?;
        report.repairable += u64::from(wrong_groups > 0);
        report.blame(wrong_groups, health::WRONG_RECORD_GROUPS);
        report.problems.extend(wrong.iter().map(ToString::to_string));
    }
    Ok(report)
}
