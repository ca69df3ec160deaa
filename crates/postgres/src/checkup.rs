//! The health check of a database, and the list of its users.
//!
//! These functions read the data of all tenants, as migrations do, and are therefore not part of a contract.

use memory_engine_core::{Error, ErrorKind, HealthReport, Job, Kind, QueueHealth, Result, Scope, Timestamp};
use memory_engine_sql::{
    count_indexed,
    embedding_versions::EmbeddingVersions,
    health, indexed,
    rows::{self, LEASE_DEAD},
};
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};

use crate::{
    database::{error::PostgresError, index_metadata, migration, secret_url::SecretUrl, server::ServerConfig},
    options::PostgresOptions,
    records::groups,
    vectors::vector_index::{self, VectorIndex},
};

/// Inconsistencies that must not exist, each with the way to fix it.
const INCONSISTENCIES: [(&str, &str); 5] = [
    (
        concat!(
            count_indexed!(),
            " AND NOT EXISTS (SELECT FROM keyword_documents k WHERE k.ns = r.ns AND k.id = r.id)
             AND NOT EXISTS (SELECT FROM backlog b WHERE b.ns = r.ns AND b.id = r.id AND b.job = 'keywords')"
        ),
        health::NOT_IN_KEYWORD_INDEX,
    ),
    (
        concat!(
            count_indexed!(),
            " AND NOT EXISTS (SELECT FROM vectors v WHERE v.ns = r.ns AND v.id = r.id)
             AND NOT EXISTS (SELECT FROM backlog b WHERE b.ns = r.ns AND b.id = r.id AND b.job = 'embedding')"
        ),
        health::WITHOUT_VECTOR,
    ),
    (
        concat!(
            "SELECT count(*) FROM keyword_documents k JOIN records r ON r.ns = k.ns AND r.id = k.id WHERE NOT ",
            indexed!()
        ),
        health::INACTIVE_IN_KEYWORD_INDEX,
    ),
    (
        concat!("SELECT count(*) FROM vectors v JOIN records r ON r.ns = v.ns AND r.id = v.id WHERE NOT ", indexed!()),
        health::INACTIVE_WITH_VECTOR,
    ),
    (
        "SELECT count(*) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
         WHERE c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('records'))
           AND NOT (i.indisvalid AND i.indisready)",
        "indexes are not valid; rebuild them with REINDEX",
    ),
];

/// The indexes that searches need.
const REQUIRED_INDEXES: [&str; 3] = ["records_by_time", "keyword_documents_by_lexeme", "backlog_by_ticket"];

/// Checks a whole database, and changes nothing. Counts the rows of every table once.
///
/// # Errors
/// Those of [`PostgresStore::connect`](crate::PostgresStore::connect), except for mismatches, which are not checked.
pub async fn checkup(url: &str, options: &PostgresOptions) -> Result<HealthReport> {
    let run = async {
        let mut connection = connect(url, options).await?;
        let report = examine(&mut connection).await?;
        connection.close().await?;
        Ok(report)
    };
    run.await.map_err(|failure: PostgresError| failure.into_error("checkup"))
}

/// Returns every tenant and every user of a database, ordered by name, for administration such as copying the database.
///
/// # Errors
/// Those of [`checkup`].
pub async fn namespaces(url: &str, options: &PostgresOptions) -> Result<Vec<Scope>> {
    let run = async {
        let mut connection = connect(url, options).await?;
        let mut namespaces = Vec::new();
        if migration::version(&mut connection).await? > 0 {
            let sql = "SELECT n.tenant, n.username FROM namespaces n ORDER BY n.tenant, n.username";
            for row in sqlx::query(sql).fetch_all(&mut connection).await? {
                namespaces.push(rows::scope([row.try_get("tenant")?, row.try_get("username")?, "", "", ""])?);
            }
        }
        connection.close().await?;
        Ok(namespaces)
    };
    run.await.map_err(|failure: PostgresError| failure.into_error("namespaces"))
}

/// Counts the groups of records again if they differ from the records. Returns a description of the difference.
///
/// # Errors
/// Those of [`checkup`]; `SchemaMismatch` for a database of an earlier schema, which has to be migrated first.
pub async fn repair(url: &str, options: &PostgresOptions) -> Result<Vec<String>> {
    let run = async {
        let server = ServerConfig::parse(&SecretUrl::new(url.to_owned()), options)?;
        let mut connection = migration::connect_locked(&server, options).await?;
        let schema = migration::version(&mut connection).await?;
        if schema != migration::SCHEMA {
            let message = format!("the database has schema {schema}, not {}; migrate it first", migration::SCHEMA);
            return Err(Error::new(ErrorKind::SchemaMismatch, "repair", message).into());
        }
        let repaired = groups::repair(&mut connection).await?;
        migration::unlock(connection).await?;
        Ok(repaired.into_iter().collect())
    };
    run.await.map_err(|failure: PostgresError| failure.into_error("repair"))
}

async fn connect(url: &str, options: &PostgresOptions) -> Result<PgConnection, PostgresError> {
    // Reading whole tables may take longer than the statement timeout of searches.
    let target = ServerConfig::parse(&SecretUrl::new(url.to_owned()), options)?.migration_options();
    let connected = tokio::time::timeout(options.acquire_timeout, PgConnection::connect_with(&target)).await;
    Ok(connected.map_err(|_| PostgresError::from(sqlx::Error::PoolTimedOut))??)
}

async fn examine(connection: &mut PgConnection) -> Result<HealthReport, PostgresError> {
    let version: String = sqlx::query_scalar("SHOW server_version").fetch_one(&mut *connection).await?;
    let schema = migration::version(connection).await?;
    let mut report = HealthReport::new(format!("PostgreSQL {version}"), schema, migration::SCHEMA);
    let extensions =
        "SELECT extname::text AS extname, extversion FROM pg_extension WHERE extname IN ('vector', 'pg_trgm')";
    for row in sqlx::query(extensions).fetch_all(&mut *connection).await? {
        report.extensions.insert(row.try_get("extname")?, row.try_get("extversion")?);
    }
    if schema == 0 {
        return Ok(report);
    }
    let partitions = migration::partitions(connection).await?;
    report.partitions = partitions;
    report.analyzer = index_metadata::read(connection, Job::Keywords.as_str()).await?;
    report.space = index_metadata::read(connection, Job::Embedding.as_str()).await?;
    // The statements name the first table of vectors; the one that serves may be the second.
    let versions =
        if schema >= 7 { index_metadata::read_versions(connection).await? } else { EmbeddingVersions::default() };
    let table = versions.table;
    for (name, sql) in health::COUNTS {
        report.counts.insert(name.to_owned(), count(connection, &health::on_serving_table(sql, table)).await?);
    }
    if let Some(second) = versions.second {
        let vectors = format!("SELECT count(*) FROM {}", table.other().name());
        health::add_second_version(&mut report, second, count(connection, &vectors).await?);
    }
    if schema >= 2 {
        let groups = count(connection, "SELECT count(*) FROM synonym_map").await?;
        report.counts.insert("synonym groups".to_owned(), groups);
    }
    if schema >= 4 {
        let mentions = count(connection, "SELECT count(*) FROM graph_entities").await?;
        report.counts.insert("mentions of entities".to_owned(), mentions);
        let stale = "SELECT count(*) FROM graph_entities g JOIN records r ON r.ns = g.ns AND r.id = g.id
                     WHERE r.state <> 'active'";
        let stale = count(connection, stale).await?;
        report.blame(stale, health::INACTIVE_IN_GRAPH);
    }
    // An earlier schema stores the time when a record was written, but not when its job was queued.
    let queue_counts = if report.schema == report.known_schema {
        "SELECT count(*) FILTER (WHERE b.leased_until <> $2) AS waiting,
                min(b.queued_at) FILTER (WHERE b.leased_until <> $2) AS oldest,
                count(*) FILTER (WHERE b.leased_until = $2) AS given_up
         FROM backlog b WHERE b.job = $1"
    } else {
        "SELECT count(*) FILTER (WHERE b.leased_until <> $2) AS waiting,
                min(r.recorded_at) FILTER (WHERE b.leased_until <> $2) AS oldest,
                count(*) FILTER (WHERE b.leased_until = $2) AS given_up
         FROM backlog b JOIN records r ON r.ns = b.ns AND r.id = b.id WHERE b.job = $1"
    };
    for job in Job::ALL {
        let row = sqlx::query(queue_counts).bind(job.as_str()).bind(LEASE_DEAD).fetch_one(&mut *connection).await?;
        let count = |column: &str| row.try_get::<i64, _>(column).map(|count| u64::try_from(count).unwrap_or_default());
        let oldest = row.try_get::<Option<i64>, _>("oldest")?.map(Timestamp::from_micros);
        report.waiting.insert(job, QueueHealth::new(count("waiting")?, oldest).with_given_up(count("given_up")?));
    }
    for (sql, problem) in INCONSISTENCIES {
        let rows = count(connection, &health::on_serving_table(sql, table)).await?;
        report.blame(rows, problem);
    }
    if schema == migration::SCHEMA {
        let wrong_groups = groups::count_differences(connection).await?;
        report.repairable = u64::from(wrong_groups > 0);
        report.blame(wrong_groups, health::WRONG_RECORD_GROUPS);
    }
    let unfinished = "SELECT DISTINCT n.tenant, n.username FROM records r JOIN namespaces n ON n.ns = r.ns
                      WHERE r.kind = $1 ORDER BY n.tenant, n.username";
    for row in sqlx::query(unfinished).bind(Kind::FORGETTING.as_str()).fetch_all(&mut *connection).await? {
        let namespace = rows::scope([row.try_get("tenant")?, row.try_get("username")?, "", "", ""])?;
        report.problems.push(health::unfinished_deletion(&namespace));
    }
    for index in REQUIRED_INDEXES {
        let exists = "SELECT to_regclass($1) IS NOT NULL";
        if !sqlx::query_scalar::<_, bool>(exists).bind(index).fetch_one(&mut *connection).await? {
            report.problems.push(format!("the index {index} is missing; restore the schema from a backup"));
        }
    }
    let recorded_definition = VectorIndex::recorded_definition(connection, table).await?;
    let name = vector_index::index_name(table);
    let exists = sqlx::query_scalar::<_, bool>("SELECT to_regclass($1) IS NOT NULL").bind(name);
    let exists = exists.fetch_one(connection).await?;
    if recorded_definition.is_some_and(|definition| definition != "none") && !exists {
        let problem =
            format!("the index {name} is missing; delete its row from the table origins and open the database");
        report.problems.push(problem);
    }
    Ok(report)
}

async fn count(connection: &mut PgConnection, sql: &str) -> Result<u64, PostgresError> {
    // The SQL consists of constants of this crate.
    let count: i64 = sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).fetch_one(connection).await?;
    Ok(u64::try_from(count).unwrap_or_default())
}
