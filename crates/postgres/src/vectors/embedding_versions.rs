//! Embedding versions: begins, fills, cuts over to and drops a second version of the vectors.
//!
//! These functions change the data of all tenants at once. Every write first locks a row of `namespaces`. A lock on
//! that table waits for running writes and blocks new ones, so that the versions change between two writes and never
//! during one.

use memory_engine_core::Timestamp;
use memory_engine_sql::{
    count_indexed,
    embedding_versions::{Begin, JOB_RENAMES, SECOND_PART, SERVING_PART, TABLE_PART, VectorTable},
    index_metadata::IndexMetadata,
    indexed,
    rows::{LEASE_DEAD, LEASE_FREE},
};
use memory_engine_vector_store::{EmbeddingVersion, EmbeddingVersionRole, EmbeddingVersions};
use sqlx::{AssertSqlSafe, PgConnection, Row};

use crate::{
    database::{error::PostgresError, index_metadata, migration},
    vectors::{
        vector_index::VectorIndex,
        vector_rows::{self, count_vectors},
    },
};

/// Waits until no other session creates or removes an index, and then blocks all writes until the transaction ends.
/// Removes the time limit of its statements.
pub(crate) async fn lock_indexes_and_writes(connection: &mut PgConnection) -> Result<(), PostgresError> {
    sqlx::raw_sql("SET LOCAL statement_timeout = 0").execute(&mut *connection).await?;
    migration::lock(connection).await?;
    lock_writes(connection).await
}

/// Blocks all writes until the transaction ends, and removes the time limit of its statements.
async fn lock_writes(connection: &mut PgConnection) -> Result<(), PostgresError> {
    sqlx::raw_sql("SET LOCAL statement_timeout = 0; LOCK TABLE namespaces IN EXCLUSIVE MODE")
        .execute(connection)
        .await?;
    Ok(())
}

/// Begins a second version in the embedding space of this process, unless it exists. New records are queued for it from
/// now on; [`queue_missing`] queues the existing ones.
pub(crate) async fn begin(
    connection: &mut PgConnection,
    metadata: &IndexMetadata,
    index: &VectorIndex,
) -> Result<(), PostgresError> {
    lock_indexes_and_writes(connection).await?;
    let versions = index_metadata::read_versions(connection).await?;
    let table = versions.table.other();
    match versions.begin(metadata)? {
        Begin::Serving => return Ok(()),
        Begin::Resume => {}
        Begin::Create => {
            vector_rows::clear(connection, table).await?;
            index_metadata::write(connection, SECOND_PART, metadata.space()).await?;
        }
    }
    index.reconcile(connection, table).await
}

/// Builds the index over the vectors of this process' embedding space, if there are enough of them. Writes wait
/// meanwhile.
pub(crate) async fn create_index(
    connection: &mut PgConnection,
    metadata: &IndexMetadata,
    index: &VectorIndex,
) -> Result<(), PostgresError> {
    lock_indexes_and_writes(connection).await?;
    let (_, table) = index_metadata::read_versions(connection).await?.role(metadata, "index")?;
    index.reconcile(connection, table).await
}

/// Queues every record without a vector in the second version, while writes continue. A record that is already queued
/// keeps its position, unless it is a dead letter. Returns the number of queued records.
pub(crate) async fn queue_missing(
    connection: &mut PgConnection,
    metadata: &IndexMetadata,
    now: Timestamp,
) -> Result<u64, PostgresError> {
    let versions = index_metadata::read_versions(connection).await?;
    let (EmbeddingVersionRole::Second, table) = versions.role(metadata, "reindex")? else { return Ok(0) };
    sqlx::raw_sql("SET LOCAL statement_timeout = 0").execute(&mut *connection).await?;
    let sql = format!(
        "INSERT INTO jobs (namespace, job, id, ticket, leased_until, queued_at)
         SELECT r.namespace, $1, r.id, $2, $3, $5 FROM records r
         WHERE {} AND NOT EXISTS (SELECT FROM {} v WHERE v.namespace = r.namespace AND v.id = r.id) FOR KEY SHARE OF r
         ON CONFLICT (namespace, job, id) DO UPDATE
         SET leased_until = excluded.leased_until, attempts = 0, reason = NULL
         WHERE jobs.leased_until = $4",
        indexed!(),
        table.name()
    );
    sqlx::query(AssertSqlSafe(sql))
        .bind(SECOND_PART)
        .bind(uuid::Uuid::now_v7())
        .bind(LEASE_FREE)
        .bind(LEASE_DEAD)
        .bind(now.as_micros())
        .execute(&mut *connection)
        .await?;
    Ok(count_queued(connection, SECOND_PART).await?.0)
}

/// Returns true if no record waits for the second version, and it has at most `missing_allowed` dead letters.
async fn is_complete(connection: &mut PgConnection, missing_allowed: u64) -> Result<bool, PostgresError> {
    let (waiting, dead_letters) = count_queued(connection, SECOND_PART).await?;
    Ok(waiting == 0 && dead_letters <= missing_allowed)
}

/// Returns true if [`cut_over`] can succeed or is already done. Writes continue.
pub(crate) async fn can_cut_over(
    connection: &mut PgConnection,
    metadata: &IndexMetadata,
    missing_allowed: u64,
) -> Result<bool, PostgresError> {
    let (role, _) = index_metadata::read_versions(connection).await?.role(metadata, "reindex")?;
    Ok(role == EmbeddingVersionRole::Serving || is_complete(connection, missing_allowed).await?)
}

/// Cuts over to the second version, if it is in the embedding space of this process and lacks at most `missing_allowed`
/// records. Returns true if that version serves now.
pub(crate) async fn cut_over(
    connection: &mut PgConnection,
    metadata: &IndexMetadata,
    missing_allowed: u64,
    now: Timestamp,
) -> Result<bool, PostgresError> {
    lock_writes(connection).await?;
    let versions = index_metadata::read_versions(connection).await?;
    let (EmbeddingVersionRole::Second, table) = versions.role(metadata, "reindex")? else { return Ok(true) };
    if !is_complete(connection, missing_allowed).await? {
        return Ok(false);
    }
    let count_unqueued = format!(
        "SELECT count(*) FROM records r WHERE {} AND NOT EXISTS (SELECT FROM {} v
            WHERE v.namespace = r.namespace AND v.id = r.id)
         AND NOT EXISTS (SELECT FROM jobs b WHERE b.namespace = r.namespace AND b.id = r.id AND b.job = $1)",
        indexed!(),
        table.name()
    );
    let unqueued: i64 =
        sqlx::query_scalar(AssertSqlSafe(count_unqueued)).bind(SECOND_PART).fetch_one(&mut *connection).await?;
    if unqueued > 0 {
        queue_missing(connection, metadata, now).await?;
        return Ok(false);
    }
    index_metadata::write(connection, SECOND_PART, versions.serving.as_deref().unwrap_or_default()).await?;
    index_metadata::write(connection, SERVING_PART, metadata.space()).await?;
    index_metadata::write(connection, TABLE_PART, table.name()).await?;
    for (from, to) in JOB_RENAMES {
        sqlx::query("UPDATE jobs SET job = $2 WHERE job = $1").bind(from).bind(to).execute(&mut *connection).await?;
    }
    Ok(true)
}

/// Removes the version that does not serve. Returns its embedding space.
pub(crate) async fn drop_second(connection: &mut PgConnection) -> Result<Option<String>, PostgresError> {
    lock_indexes_and_writes(connection).await?;
    let versions = index_metadata::read_versions(connection).await?;
    if versions.second.is_some() {
        let table = versions.table.other();
        sqlx::query("DELETE FROM jobs WHERE job = $1").bind(SECOND_PART).execute(&mut *connection).await?;
        sqlx::query("DELETE FROM index_metadata WHERE part = $1").bind(SECOND_PART).execute(&mut *connection).await?;
        VectorIndex::remove(connection, table).await?;
        vector_rows::clear(connection, table).await?;
    }
    Ok(versions.second)
}

/// Returns the embedding versions, with the numbers of their vectors and queued records.
pub(crate) async fn count(connection: &mut PgConnection) -> Result<EmbeddingVersions, PostgresError> {
    let versions = index_metadata::read_versions(connection).await?;
    let records: i64 = sqlx::query_scalar(count_indexed!()).fetch_one(&mut *connection).await?;
    let serving = versions.serving.unwrap_or_default();
    let serving = describe(connection, serving, versions.table, SERVING_PART).await?;
    let second = match versions.second {
        Some(space) => Some(describe(connection, space, versions.table.other(), SECOND_PART).await?),
        None => None,
    };
    Ok(EmbeddingVersions::new(u64::try_from(records).unwrap_or_default(), serving).with_second(second))
}

async fn describe(
    connection: &mut PgConnection,
    space: String,
    table: VectorTable,
    job: &str,
) -> Result<EmbeddingVersion, PostgresError> {
    let mut version = EmbeddingVersion::new(space);
    version.vectors = count_vectors(connection, table).await?;
    (version.waiting, version.dead_letters) = count_queued(connection, job).await?;
    Ok(version)
}

/// Counts the records that wait for a job, and its dead letters.
async fn count_queued(connection: &mut PgConnection, job: &str) -> Result<(u64, u64), PostgresError> {
    let sql = "SELECT count(*) FILTER (WHERE b.leased_until <> $2) AS waiting,
                      count(*) FILTER (WHERE b.leased_until = $2) AS dead_letters
               FROM jobs b WHERE b.job = $1";
    let row = sqlx::query(sql).bind(job).bind(LEASE_DEAD).fetch_one(connection).await?;
    let count = |column: &str| row.try_get::<i64, _>(column).map(|count| u64::try_from(count).unwrap_or_default());
    Ok((count("waiting")?, count("dead_letters")?))
}
