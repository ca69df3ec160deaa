//! The health check of a database.
//!
//! What is here serves all tenants, as migrations do: it is no part of any contract.

use memory_engine_core::{HealthReport, Job, QueueHealth, Result, Scope, Timestamp};
use memory_engine_sql::{
    count_indexed,
    embedding_versions::EmbeddingVersions,
    health, indexed,
    rows::{self, LEASE_DEAD},
};
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};

use crate::{
    database::{error::PostgresError, index_metadata, migration, secret::Secret, server::Server},
    options::PostgresOptions,
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

/// The indexes that a search rests on.
const INDEXES: [&str; 3] = ["records_by_time", "keyword_documents_by_lexeme", "backlog_by_ticket"];

/// Looks at a whole database, and changes nothing. It counts every table once.
///
/// # Errors
/// Those of [`PostgresStore::connect`](crate::PostgresStore::connect) but for the mismatches.
pub async fn checkup(url: &str, options: &PostgresOptions) -> Result<HealthReport> {
    let run = async {
        let mut connection = connect(url, options).await?;
        let checkup = examine(&mut connection).await?;
        connection.close().await?;
        Ok(checkup)
    };
    run.await.map_err(|failure: PostgresError| failure.into_error("checkup"))
}

/// Every tenant and every user that the database knows, in the order of their names: for those who keep it, such as a
/// copy of the whole.
///
/// # Errors
/// As [`checkup`].
pub async fn namespaces(url: &str, options: &PostgresOptions) -> Result<Vec<Scope>> {
    let run = async {
        let mut connection = connect(url, options).await?;
        let mut found = Vec::new();
        if migration::version(&mut connection).await? > 0 {
            let sql = "SELECT n.tenant, n.username FROM namespaces n ORDER BY n.tenant, n.username";
            for row in sqlx::query(sql).fetch_all(&mut connection).await? {
                found.push(rows::scope([row.try_get("tenant")?, row.try_get("username")?, "", "", ""])?);
            }
        }
        connection.close().await?;
        Ok(found)
    };
    run.await.map_err(|failure: PostgresError| failure.into_error("namespaces"))
}

async fn connect(url: &str, options: &PostgresOptions) -> Result<PgConnection, PostgresError> {
    // What is looked at is everything, which may take longer than one user's question.
    let to = Server::of(&Secret::new(url.to_owned()), options)?.options_for_migrations();
    let connected = tokio::time::timeout(options.acquire_timeout, PgConnection::connect_with(&to)).await;
    Ok(connected.map_err(|_| PostgresError::from(sqlx::Error::PoolTimedOut))??)
}

async fn examine(connection: &mut PgConnection) -> Result<HealthReport, PostgresError> {
    let version: String = sqlx::query_scalar("SHOW server_version").fetch_one(&mut *connection).await?;
    let schema = migration::version(connection).await?;
    let mut checkup = HealthReport::new(format!("PostgreSQL {version}"), schema, migration::SCHEMA);
    let extensions =
        "SELECT extname::text AS extname, extversion FROM pg_extension WHERE extname IN ('vector', 'pg_trgm')";
    for row in sqlx::query(extensions).fetch_all(&mut *connection).await? {
        checkup.extensions.insert(row.try_get("extname")?, row.try_get("extversion")?);
    }
    if schema == 0 {
        return Ok(checkup);
    }
    let partitions = migration::partitions(connection).await?;
    checkup.partitions = partitions;
    checkup.analyzer = index_metadata::maker(connection, Job::Keywords.as_str()).await?;
    checkup.space = index_metadata::maker(connection, Job::Embedding.as_str()).await?;
    // The statements name the first table of vectors; the one that serves may be the second.
    let versions = if schema >= 7 { index_metadata::versions(connection).await? } else { EmbeddingVersions::default() };
    let table = versions.table;
    for (name, sql) in health::COUNTS {
        checkup.counts.insert(name.to_owned(), count(connection, &health::on_serving_table(sql, table)).await?);
    }
    if let Some(second) = versions.second {
        let vectors = format!("SELECT count(*) FROM {}", table.other().name());
        health::add_second_version(&mut checkup, second, count(connection, &vectors).await?);
    }
    if schema >= 2 {
        let groups = count(connection, "SELECT count(*) FROM synonym_map").await?;
        checkup.counts.insert("synonym groups".to_owned(), groups);
    }
    if schema >= 4 {
        let mentions = count(connection, "SELECT count(*) FROM graph_entities").await?;
        checkup.counts.insert("mentions of entities".to_owned(), mentions);
        let stale = "SELECT count(*) FROM graph_entities g JOIN records r ON r.ns = g.ns AND r.id = g.id
                     WHERE r.state <> 'active'";
        let stale = count(connection, stale).await?;
        checkup.blame(stale, health::INACTIVE_IN_GRAPH);
    }
    // An earlier schema knows of each record when it was written, and no more.
    let waiting = if checkup.schema == checkup.known_schema {
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
        let row = sqlx::query(waiting).bind(job.as_str()).bind(LEASE_DEAD).fetch_one(&mut *connection).await?;
        let count = |column: &str| row.try_get::<i64, _>(column).map(|count| u64::try_from(count).unwrap_or_default());
        let oldest = row.try_get::<Option<i64>, _>("oldest")?.map(Timestamp::from_micros);
        checkup.waiting.insert(job, QueueHealth::new(count("waiting")?, oldest).with_given_up(count("given_up")?));
    }
    for (sql, what) in INCONSISTENCIES {
        let found = count(connection, &health::on_serving_table(sql, table)).await?;
        checkup.blame(found, what);
    }
    for index in INDEXES {
        let there = "SELECT to_regclass($1) IS NOT NULL";
        if !sqlx::query_scalar::<_, bool>(there).bind(index).fetch_one(&mut *connection).await? {
            checkup.problems.push(format!("the index {index} is missing; restore the schema from a backup"));
        }
    }
    let nearness = VectorIndex::noted(connection, table).await?;
    let there = sqlx::query_scalar::<_, bool>("SELECT to_regclass($1) IS NOT NULL").bind(vector_index::name(table));
    let there = there.fetch_one(connection).await?;
    if nearness.is_some_and(|definition| definition != "none") && !there {
        let name = vector_index::name(table);
        let missing =
            format!("the index {name} is missing; delete its row from the table origins and open the database");
        checkup.problems.push(missing);
    }
    Ok(checkup)
}

async fn count(connection: &mut PgConnection, sql: &str) -> Result<u64, PostgresError> {
    // Put together from the texts of this file.
    let count: i64 = sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).fetch_one(connection).await?;
    Ok(u64::try_from(count).unwrap_or_default())
}
