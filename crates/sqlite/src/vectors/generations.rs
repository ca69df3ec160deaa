//! The versions of the vectors: beginning, filling, switching to and dropping a second one.

use memory_engine_core::Timestamp;
use memory_engine_sql::{
    count_indexed,
    embedding_versions::{Begin, JOB_RENAMES, SECOND_PART, SERVING_PART, TABLE_PART, VectorTable},
    index_metadata::IndexMetadata,
    indexed,
    rows::{LEASE_DEAD, LEASE_FREE},
};
use memory_engine_vector_store::{Generation, GenerationRole, Generations};
use rusqlite::{Connection, params};

use crate::{
    database::{error::SqliteError, index_metadata},
    vectors::vector_store,
};

/// Begins a second version in this process' space, or continues with it. Returns the number of records queued for it.
pub(crate) fn begin(connection: &Connection, metadata: &IndexMetadata, now: Timestamp) -> Result<u64, SqliteError> {
    let versions = index_metadata::versions(connection)?;
    let table = versions.table.other();
    match versions.begin(metadata)? {
        Begin::Serving => return Ok(0),
        Begin::Resume => {}
        Begin::Create => {
            vector_store::clear(connection, table)?;
            index_metadata::write(connection, SECOND_PART, metadata.space())?;
        }
    }
    queue_missing(connection, table, now)?;
    let queued =
        connection.query_row("SELECT count(*) FROM backlog WHERE job = ?1", [SECOND_PART], |row| row.get(0))?;
    Ok(queued)
}

/// Queues every record that has no vector in a table. A record that is queued already keeps its place, unless it is a
/// dead letter.
fn queue_missing(connection: &Connection, table: VectorTable, now: Timestamp) -> Result<(), SqliteError> {
    let sql = format!(
        "INSERT INTO backlog (job, record, leased_until, queued_at)
         SELECT ?1, r.record, ?2, ?4 FROM records r WHERE {} AND NOT EXISTS (SELECT 1 FROM {} v WHERE v.record = r.record)
         ORDER BY r.namespace, r.record
         ON CONFLICT (record, job) DO UPDATE SET leased_until = ?2, attempts = 0, reason = NULL WHERE leased_until = ?3",
        indexed!(),
        table.name()
    );
    connection.execute(&sql, params![SECOND_PART, LEASE_FREE, LEASE_DEAD, now.as_micros()])?;
    Ok(())
}

/// Lets the second version serve, if it is this process' and misses at most `missing_allowed` records. Returns true if
/// it serves now.
pub(crate) fn switch(
    connection: &Connection,
    metadata: &IndexMetadata,
    missing_allowed: u64,
    now: Timestamp,
) -> Result<bool, SqliteError> {
    let versions = index_metadata::versions(connection)?;
    let (GenerationRole::Second, table) = versions.role(metadata, "reindex")? else { return Ok(true) };
    let (waiting, given_up) = count_queued(connection, SECOND_PART)?;
    if waiting > 0 || given_up > missing_allowed {
        return Ok(false);
    }
    let unqueued: u64 = connection.query_row(
        &format!(
            "SELECT count(*) FROM records r WHERE {}
             AND NOT EXISTS (SELECT 1 FROM {} v WHERE v.record = r.record)
             AND NOT EXISTS (SELECT 1 FROM backlog b WHERE b.record = r.record AND b.job = ?1)",
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
    let mut rename = connection.prepare_cached("UPDATE backlog SET job = ?2 WHERE job = ?1")?;
    for (from, to) in JOB_RENAMES {
        rename.execute([from, to])?;
    }
    Ok(true)
}

/// Removes the version that does not serve. Returns its space.
pub(crate) fn drop_second(connection: &Connection) -> Result<Option<String>, SqliteError> {
    let versions = index_metadata::versions(connection)?;
    if versions.second.is_some() {
        connection.execute("DELETE FROM backlog WHERE job = ?1", [SECOND_PART])?;
        connection.execute("DELETE FROM origins WHERE part = ?1", [SECOND_PART])?;
        vector_store::clear(connection, versions.table.other())?;
    }
    Ok(versions.second)
}

/// Reads which versions there are, and how complete each is.
pub(crate) fn count(connection: &Connection) -> Result<Generations, SqliteError> {
    let versions = index_metadata::versions(connection)?;
    let describe = |space: String, table: VectorTable, job: &str| {
        let mut generation = Generation::new(space);
        generation.vectors = count_vectors(connection, table)?;
        (generation.waiting, generation.given_up) = count_queued(connection, job)?;
        Ok::<_, SqliteError>(generation)
    };
    let serving = describe(versions.serving.unwrap_or_default(), versions.table, SERVING_PART)?;
    let second = versions.second.map(|space| describe(space, versions.table.other(), SECOND_PART)).transpose()?;
    let records = count_indexed!();
    let records = connection.query_row(records, [], |row| row.get(0))?;
    Ok(Generations::new(records, serving).with_second(second))
}

/// Counts the vectors in a table.
pub(crate) fn count_vectors(connection: &Connection, table: VectorTable) -> rusqlite::Result<u64> {
    connection.query_row(&format!("SELECT count(*) FROM {}", table.name()), [], |row| row.get(0))
}

/// Counts the records that wait for a job, and its dead letters.
fn count_queued(connection: &Connection, job: &str) -> rusqlite::Result<(u64, u64)> {
    let sql = "SELECT count(*) FILTER (WHERE leased_until <> ?2) AS waiting,
                      count(*) FILTER (WHERE leased_until = ?2) AS given_up
               FROM backlog WHERE job = ?1";
    let read = |row: &rusqlite::Row<'_>| Ok((row.get("waiting")?, row.get("given_up")?));
    connection.prepare_cached(sql)?.query_row(params![job, LEASE_DEAD], read)
}
