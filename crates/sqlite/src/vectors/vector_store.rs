//! The vectors of the records.

use memory_engine_core::{Embedding, RecordId};
use memory_engine_vector_store::VectorEntry;
use rusqlite::{CachedStatement, Connection, params, types::ValueRef};

use crate::{
    cache::change_log,
    database::error::SqliteError,
    records::row,
    records::scopes::{self, CoveredScope, RecordAddress},
};
use memory_engine_sql::embedding_versions::VectorTable;

/// Keeps the vectors of the records that are still as the entries have them.
pub(crate) fn upsert(connection: &Connection, table: VectorTable, entries: &[VectorEntry]) -> Result<(), SqliteError> {
    for VectorEntry { record, embedding } in entries {
        let place = scopes::settle(connection, &record.scope)?;
        let Some(current) = row::current(connection, place.namespace, record.id)? else { continue };
        if current.is(record, place) {
            insert(connection, table, current.row, record.id, place, embedding)?;
            change_log::note(connection, current.row)?;
        }
    }
    change_log::trim(connection)
}

/// Stores the vector of a record, replacing an earlier one. The caller logs the change.
pub(crate) fn insert(
    connection: &Connection,
    table: VectorTable,
    row: i64,
    id: RecordId,
    place: RecordAddress,
    embedding: &Embedding,
) -> Result<(), SqliteError> {
    let vector: Vec<u8> = embedding.values().iter().flat_map(|value| value.to_le_bytes()).collect();
    let sql = format!("INSERT OR REPLACE INTO {} (record, id, scope, vector) VALUES (?1, ?2, ?3, ?4)", table.name());
    connection.prepare_cached(&sql)?.execute(params![row, id.as_bytes(), place.scope, vector])?;
    Ok(())
}

/// Removes the vectors of a record from every generation. Returns true if it had one; then the caller logs the
/// change.
pub(crate) fn remove(connection: &Connection, row: i64) -> Result<bool, SqliteError> {
    let mut removed = 0;
    for table in VectorTable::ALL {
        let sql = format!("DELETE FROM {} WHERE record = ?1", table.name());
        removed += connection.prepare_cached(&sql)?.execute([row])?;
    }
    Ok(removed > 0)
}

/// Removes the vectors of these records within reach, and counts those that had any.
pub(crate) fn delete(connection: &Connection, reach: &CoveredScope, ids: &[RecordId]) -> Result<u64, SqliteError> {
    let mut gone = 0;
    for id in ids {
        for stored in row::all(connection, reach, *id)? {
            if remove(connection, stored.row)? {
                change_log::note(connection, stored.row)?;
                gone += 1;
            }
        }
    }
    change_log::trim(connection)?;
    Ok(gone)
}

/// Removes all vectors of a generation, and invalidates loaded indexes.
pub(crate) fn clear(connection: &Connection, table: VectorTable) -> Result<(), SqliteError> {
    connection.execute(&format!("DELETE FROM {}", table.name()), [])?;
    change_log::note_all(connection)
}

/// A vector with its numbers.
pub(crate) struct StoredVector {
    pub(crate) row: i64,
    pub(crate) id: RecordId,
    pub(crate) scope: i64,
    /// The time of its record.
    pub(crate) occurred_at: i64,
    pub(crate) embedding: Embedding,
}

/// Gives every vector of a generation.
pub(crate) fn all(
    connection: &Connection,
    table: VectorTable,
    take: impl FnMut(StoredVector),
) -> Result<(), SqliteError> {
    let sql = format!(
        "SELECT v.record, v.id, v.scope, v.vector, r.occurred_at
         FROM {} v CROSS JOIN records r ON r.record = v.record",
        table.name()
    );
    each(connection, &sql, 0, take)
}

/// Gives the vectors that have changed after `change` and are still there.
pub(crate) fn since(
    connection: &Connection,
    table: VectorTable,
    change: i64,
    take: impl FnMut(StoredVector),
) -> Result<(), SqliteError> {
    let sql = format!(
        "SELECT v.record, v.id, v.scope, v.vector, r.occurred_at
         FROM (SELECT DISTINCT record FROM changes WHERE change > ?1) c CROSS JOIN {} v ON v.record = c.record
         CROSS JOIN records r ON r.record = v.record",
        table.name()
    );
    each(connection, &sql, change, take)
}

/// Looks up single vectors.
pub(crate) struct Lookup<'c> {
    prepared: CachedStatement<'c>,
}

impl<'c> Lookup<'c> {
    pub(crate) fn of(connection: &'c Connection, table: VectorTable) -> Result<Self, SqliteError> {
        let sql = format!("SELECT vector FROM {} WHERE record = ?1", table.name());
        Ok(Self { prepared: connection.prepare_cached(&sql)? })
    }

    pub(crate) fn vector(&mut self, row: i64) -> Result<Option<Embedding>, SqliteError> {
        let mut rows = self.prepared.query([row])?;
        rows.next()?.map(|row| embedding(row.get_ref(0)?)).transpose()
    }
}

fn embedding(stored: ValueRef<'_>) -> Result<Embedding, SqliteError> {
    let bytes = stored.as_blob().map_err(rusqlite::Error::from)?;
    let values = bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    Embedding::new(values).map_err(|_| SqliteError::corrupt("a vector"))
}

fn each(
    connection: &Connection,
    sql: &str,
    change: i64,
    mut take: impl FnMut(StoredVector),
) -> Result<(), SqliteError> {
    let mut prepared = connection.prepare_cached(sql)?;
    let mut rows = if prepared.parameter_count() > 0 { prepared.query([change])? } else { prepared.query([])? };
    while let Some(row) = rows.next()? {
        let embedding = embedding(row.get_ref(3)?)?;
        let id = RecordId::from_bytes(row.get(1)?);
        take(StoredVector { row: row.get(0)?, id, scope: row.get(2)?, occurred_at: row.get(4)?, embedding });
    }
    Ok(())
}
