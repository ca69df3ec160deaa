//! The embedding versions of a database: starts, fills, cuts over to and drops a second one.

use memory_engine_core::Timestamp;
use memory_engine_sql::{
    count_indexed,
    embedding_versions::{Begin, JOB_RENAMES, SECOND_PART, SERVING_PART, TABLE_PART, VectorTable},
    index_metadata::IndexMetadata,
    indexed,
    rows::{LEASE_DEAD, LEASE_FREE},
};
use memory_engine_vector_store::{EmbeddingVersion, EmbeddingVersionRole, EmbeddingVersions};
use rusqlite::{Connection, params};

use crate::{
    database::{error::SqliteError, index_metadata},
    vectors::vector_rows,
};

/// Starts a second version in the embedding space of this process, or continues with it. Returns the number of records
/// queued for it.
pub(crate) fn begin(connection: &Connection, metadata: &IndexMetadata, now: Timestamp) -> Result<u64, SqliteError> {
    let versions = index_metadata::versions(connection)?;
    let table = versions.table.other();
    match versions.begin(metadata)? {
        Begin::Serving => return Ok(0),
        Begin::Resume => {}
        Begin::Create => {
            vector_rows::clear(connection, table)?;
            index_metadata::write(connection, SECOND_PART, metadata.space())?;
        }
    }
    queue_missing(connection, table, now)?;
    let queued = connection.query_row("SELECT count(*) FROM jobs WHERE job = ?1", [SECOND_PART], |row| row.get(0))?;
    Ok(queued)
}

/// Queues every record that has no vector in a table. The queue item of a record that is already queued stays
/// unchanged; a dead letter can be claimed again.
fn queue_missing(connection: &Connection, table: VectorTable, now: Timestamp) -> Result<(), SqliteError> {
    let sql = format!(
        "INSERT INTO jobs (job, record, leased_until, queued_at)
         SELECT ?1, r.record, ?2, ?4 FROM records r
         WHERE {} AND NOT EXISTS (SELECT 1 FROM {} v WHERE v.record = r.record)
         ORDER BY r.namespace, r.record
         ON CONFLICT (record, job) DO UPDATE SET leased_until = ?2, attempts = 0, reason = NULL
         WHERE leased_until = ?3",
        indexed!(),
        table.name()
    );
    connection.execute(&sql, params![SECOND_PART, LEASE_FREE, LEASE_DEAD, now.as_micros()])?;
    Ok(())
}

/// Cuts over to the second version, if it is in the space of this process and complete except for at most `max_missing`
/// dead letters. Returns true if the version of this process serves now.
pub(crate) fn switch(
    connection: &Connection,
    metadata: &IndexMetadata,
    max_missing: u64,
    now: Timestamp,
) -> Result<bool, SqliteError> {
    let versions = index_metadata::versions(connection)?;
    let (EmbeddingVersionRole::Second, table) = versions.role(metadata, "reindex")? else { return Ok(true) };
    let queued = count_queued(connection, SECOND_PART)?;
    if queued.waiting > 0 || queued.dead > max_missing {
        return Ok(false);
    }
    let unqueued: u64 = connection.query_row(
        &format!(
            "SELECT count(*) FROM records r WHERE {}
             AND NOT EXISTS (SELECT 1 FROM {} v WHERE v.record = r.record)
             AND NOT EXISTS (SELECT 1 FROM jobs b WHERE b.record = r.record AND b.job = ?1)",
            indexed!(),
            table.name()
        ),
        [SECOND_PART],
        |row| row.get(0),
    )?;
    if unqueued > 0 {
        queue_missing(connection, table, now)?;
        return Ok(false);
    }
    index_metadata::write(connection, SECOND_PART, versions.serving.as_deref().unwrap_or_default())?;
    index_metadata::write(connection, SERVING_PART, metadata.space())?;
    index_metadata::write(connection, TABLE_PART, table.name())?;
    let mut rename = connection.prepare_cached("UPDATE jobs SET job = ?2 WHERE job = ?1")?;
    for (from, to) in JOB_RENAMES {
        rename.execute([from, to])?;
    }
    Ok(true)
}

/// Removes the version that does not serve. Returns its space; `None` if there is no second version.
pub(crate) fn drop_second(connection: &Connection) -> Result<Option<String>, SqliteError> {
    let versions = index_metadata::versions(connection)?;
    if versions.second.is_some() {
        connection.execute("DELETE FROM jobs WHERE job = ?1", [SECOND_PART])?;
        connection.execute("DELETE FROM index_metadata WHERE part = ?1", [SECOND_PART])?;
        vector_rows::clear(connection, versions.table.other())?;
    }
    Ok(versions.second)
}

/// Returns the versions, with the numbers of their vectors, queued records and dead letters.
pub(crate) fn count(connection: &Connection) -> Result<EmbeddingVersions, SqliteError> {
    let versions = index_metadata::versions(connection)?;
    let serving = describe(connection, versions.serving.unwrap_or_default(), versions.table, SERVING_PART)?;
    let second = match versions.second {
        Some(space) => Some(describe(connection, space, versions.table.other(), SECOND_PART)?),
        None => None,
    };
    let records = connection.query_row(count_indexed!(), [], |row| row.get(0))?;
    Ok(EmbeddingVersions::new(records, serving).with_second(second))
}

/// Counts the vectors of one version, and the records queued for one.
fn describe(
    connection: &Connection,
    space: String,
    table: VectorTable,
    job: &str,
) -> Result<EmbeddingVersion, SqliteError> {
    let queued = count_queued(connection, job)?;
    let mut version = EmbeddingVersion::new(space);
    version.vectors = count_vectors(connection, table)?;
    version.waiting = queued.waiting;
    version.dead_letters = queued.dead;
    Ok(version)
}

/// Counts the vectors in a table.
pub(crate) fn count_vectors(connection: &Connection, table: VectorTable) -> rusqlite::Result<u64> {
    connection.query_row(&format!("SELECT count(*) FROM {}", table.name()), [], |row| row.get(0))
}

/// Number of records in the queue of one job.
struct QueuedRecords {
    /// Records that are not claimed yet, or claimed and not completed.
    waiting: u64,
    /// Dead letters.
    dead: u64,
}

fn count_queued(connection: &Connection, job: &str) -> rusqlite::Result<QueuedRecords> {
    let sql = "SELECT count(*) FILTER (WHERE leased_until <> ?2) AS waiting,
                      count(*) FILTER (WHERE leased_until = ?2) AS dead
               FROM jobs WHERE job = ?1";
    connection.prepare_cached(sql)?.query_row(params![job, LEASE_DEAD], |row| {
        Ok(QueuedRecords { waiting: row.get("waiting")?, dead: row.get("dead")? })
    })
}
