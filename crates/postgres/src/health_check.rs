//! The health check of a database, and the list of its users.
//!
//! These functions read the data of all tenants, as migrations do, and are therefore not part of a contract.

mod content_checks;
mod contents;
mod repair;
mod schema_objects;

use memory_engine_core::{HealthReport, Job, Kind, QueueHealth, Result, Scope, Timestamp};
use memory_engine_sql::{
    checks::Placeholders,
    embedding_versions::StoredEmbeddingVersions,
    health,
    rows::{self, LEASE_DEAD},
};
use sqlx::{AssertSqlSafe, PgConnection, Row};

use crate::{
    database::{error::PostgresError, index_metadata, migration, options::PostgresOptions, server::on_connection},
    health_check::{contents::WrongContents, schema_objects::SchemaDifferences},
};

/// Number of steps of a check apart from the checks of the contents.
const OTHER_STEPS: usize = 4;

/// Is called with the number of completed steps and the number of all steps.
type OnProgress<'p> = &'p (dyn Fn(usize, usize) + Send + Sync + 'p);

/// Checks a whole database, and changes nothing. Reads every table once for each check: the time grows with the size of
/// the database. The memory of this process does not.
///
/// # Errors
/// Those of [`PostgresStore::connect`](crate::PostgresStore::connect), except for mismatches, which are not checked.
pub async fn check_health(url: &str, options: &PostgresOptions) -> Result<HealthReport> {
    check_health_with_progress(url, options, &|_, _| {}).await
}

/// As [`check_health`]. Calls `on_progress` after each step with the number of completed steps and the number of all
/// steps.
///
/// # Errors
/// Those of [`check_health`].
pub async fn check_health_with_progress(
    url: &str,
    options: &PostgresOptions,
    on_progress: &(dyn Fn(usize, usize) + Send + Sync),
) -> Result<HealthReport> {
    on_connection(url, options, "check_health", async |connection| examine(connection, on_progress).await).await
}

/// Repairs the findings that can be repaired, each kind in one transaction that blocks writes. Deletes no record and no
/// tombstone. Returns a description of each repair.
///
/// # Errors
/// Those of [`check_health`]; `SchemaMismatch` for a database of an earlier schema, which has to be migrated first;
/// `Corrupt` if tables or columns are missing.
pub async fn repair(url: &str, options: &PostgresOptions) -> Result<Vec<String>> {
    on_connection(url, options, "repair", repair::run).await
}

/// Returns every tenant and every user of a database, ordered by name, for administration such as copying the database.
///
/// # Errors
/// Those of [`check_health`].
pub async fn namespaces(url: &str, options: &PostgresOptions) -> Result<Vec<Scope>> {
    on_connection(url, options, "namespaces", read_namespaces).await
}

async fn read_namespaces(connection: &mut PgConnection) -> Result<Vec<Scope>, PostgresError> {
    let mut namespaces = Vec::new();
    if migration::version(connection).await? > 0 {
        let sql = "SELECT n.tenant, n.username FROM namespaces n ORDER BY n.tenant, n.username";
        for row in sqlx::query(sql).fetch_all(connection).await? {
            namespaces.push(rows::scope([row.try_get("tenant")?, row.try_get("username")?, "", "", ""])?);
        }
    }
    Ok(namespaces)
}

async fn examine(connection: &mut PgConnection, on_progress: OnProgress<'_>) -> Result<HealthReport, PostgresError> {
    let version: String = sqlx::query_scalar("SHOW server_version").fetch_one(&mut *connection).await?;
    let schema = migration::version(connection).await?;
    let mut report = HealthReport::new(format!("PostgreSQL {version}"), schema, migration::SCHEMA);
    let extensions =
        "SELECT extname::text AS extname, extversion FROM pg_extension WHERE extname IN ('vector', 'pg_trgm')";
    for row in sqlx::query(extensions).fetch_all(&mut *connection).await? {
        report.extensions.insert(row.try_get("extname")?, row.try_get("extversion")?);
    }
    // Statements may fail in a database that has to be migrated first.
    if schema != migration::SCHEMA {
        return Ok(report);
    }
    let differences = SchemaDifferences::of(connection).await?;
    let prevents_checks = differences.prevents_checks();
    differences.findings.into_iter().for_each(|finding| report.add(finding));
    if prevents_checks {
        return Ok(report);
    }
    let checks = content_checks::all()?;
    let steps = checks.len() + OTHER_STEPS;
    on_progress(1, steps);
    report.partitions = migration::partitions(connection).await?;
    report.analyzer = index_metadata::read(connection, Job::Keywords.as_str()).await?;
    report.space = index_metadata::read(connection, Job::Embedding.as_str()).await?;
    // The statements name the first table of vectors; the one that serves may be the second.
    let versions = index_metadata::read_versions(connection).await?;
    count_contents(connection, &versions, &mut report).await?;
    on_progress(2, steps);
    let placeholders = Placeholders::new(&versions, Timestamp::default());
    for (done, check) in (3..).zip(&checks) {
        let findings = content_checks::find(connection, check, &placeholders).await?;
        findings.into_iter().for_each(|finding| report.add(finding));
        on_progress(done, steps);
    }
    health::check_spaces(&versions).into_iter().for_each(|finding| report.add(finding));
    WrongContents::find(connection).await?.findings().into_iter().for_each(|finding| report.add(finding));
    let vector_index = content_checks::find_missing_vector_index(connection, versions.table).await?;
    vector_index.into_iter().for_each(|finding| report.add(finding));
    let sql = "SELECT DISTINCT n.tenant, n.username FROM records r JOIN namespaces n ON n.namespace = r.namespace
               WHERE r.kind = $1 ORDER BY n.tenant, n.username";
    let mut unfinished = Vec::new();
    for row in sqlx::query(sql).bind(Kind::FORGETTING.as_str()).fetch_all(&mut *connection).await? {
        unfinished.push(rows::scope([row.try_get("tenant")?, row.try_get("username")?, "", "", ""])?);
    }
    health::unfinished_deletions(&unfinished).into_iter().for_each(|finding| report.add(finding));
    on_progress(steps, steps);
    Ok(report)
}

/// Counts the contents and the queues.
async fn count_contents(
    connection: &mut PgConnection,
    versions: &StoredEmbeddingVersions,
    report: &mut HealthReport,
) -> Result<(), PostgresError> {
    let table = versions.table;
    for (name, sql) in health::COUNTS {
        report.counts.insert(name.to_owned(), count(connection, &health::on_serving_table(sql, table)).await?);
    }
    if let Some(second) = &versions.second {
        let vectors = format!("SELECT count(*) FROM {}", table.other().name());
        health::add_second_version(report, second.clone(), count(connection, &vectors).await?);
    }
    let queue_counts = "SELECT count(*) FILTER (WHERE b.leased_until <> $2) AS waiting,
            min(b.queued_at) FILTER (WHERE b.leased_until <> $2) AS oldest,
            count(*) FILTER (WHERE b.leased_until = $2) AS dead_letters
        FROM jobs b WHERE b.job = $1";
    for job in Job::ALL {
        let row = sqlx::query(queue_counts).bind(job.as_str()).bind(LEASE_DEAD).fetch_one(&mut *connection).await?;
        let count = |column: &str| row.try_get::<i64, _>(column).map(|count| u64::try_from(count).unwrap_or_default());
        let oldest = row.try_get::<Option<i64>, _>("oldest")?.map(Timestamp::from_micros);
        report
            .waiting
            .insert(job, QueueHealth::new(count("waiting")?, oldest).with_dead_letters(count("dead_letters")?));
    }
    Ok(())
}

async fn count(connection: &mut PgConnection, sql: &str) -> Result<u64, PostgresError> {
    // The SQL consists of constants of this crate.
    let count: i64 = sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).fetch_one(connection).await?;
    Ok(u64::try_from(count).unwrap_or_default())
}
