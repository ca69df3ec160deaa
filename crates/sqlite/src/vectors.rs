//! The vectors of the records.

use memory_core::{Embedding, RecordId};
use memory_vector_store::VectorEntry;
use rusqlite::{Connection, params};

use crate::{
    changes,
    failure::Failure,
    records,
    scopes::{self, Place, Reach},
};

/// Keeps the vectors of the records that are still as the entries have them.
pub(crate) fn upsert(connection: &Connection, entries: &[VectorEntry]) -> Result<(), Failure> {
    for VectorEntry { record, embedding } in entries {
        let place = scopes::settle(connection, &record.scope)?;
        let Some(current) = records::current(connection, place.namespace, record.id)? else { continue };
        if current.is(record, place) {
            insert(connection, current.row, record.id, place, embedding)?;
        }
    }
    changes::forget_old(connection)
}

/// Keeps the vector of a record, in place of an earlier one.
pub(crate) fn insert(
    connection: &Connection,
    row: i64,
    id: RecordId,
    place: Place,
    embedding: &Embedding,
) -> Result<(), Failure> {
    let vector: Vec<u8> = embedding.values().iter().flat_map(|value| value.to_le_bytes()).collect();
    connection
        .prepare_cached("INSERT OR REPLACE INTO vectors (record, id, scope, vector) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![row, id.as_bytes(), place.scope, vector])?;
    changes::note(connection, row)
}

/// Removes the vector of a record; whether it had one.
pub(crate) fn remove(connection: &Connection, row: i64) -> Result<bool, Failure> {
    let removed = connection.prepare_cached("DELETE FROM vectors WHERE record = ?1")?.execute([row])?;
    if removed == 0 {
        return Ok(false);
    }
    changes::note(connection, row)?;
    Ok(true)
}

/// Removes the vectors of these records within reach; whether there were any.
pub(crate) fn delete(connection: &Connection, reach: &Reach, ids: &[RecordId]) -> Result<bool, Failure> {
    let mut any = false;
    for id in ids {
        for stored in records::all(connection, reach, *id)? {
            any |= remove(connection, stored.row)?;
        }
    }
    changes::forget_old(connection)?;
    Ok(any)
}

/// Removes all vectors, and has everyone who keeps them read them anew.
pub(crate) fn clear(connection: &Connection) -> Result<(), Failure> {
    connection.execute("DELETE FROM vectors", [])?;
    changes::note_all(connection)
}

/// A vector with its numbers.
pub(crate) struct StoredVector {
    pub(crate) row: i64,
    pub(crate) id: RecordId,
    pub(crate) scope: i64,
    /// When its record occurred.
    pub(crate) occurred_at: i64,
    pub(crate) embedding: Embedding,
}

/// Gives every vector.
pub(crate) fn all(connection: &Connection, take: impl FnMut(StoredVector)) -> Result<(), Failure> {
    let sql = "SELECT v.record, v.id, v.scope, v.vector, r.occurred_at
        FROM vectors v CROSS JOIN records r ON r.record = v.record";
    each(connection, sql, 0, take)
}

/// Gives the vectors that have changed after `change` and are still there.
pub(crate) fn since(connection: &Connection, change: i64, take: impl FnMut(StoredVector)) -> Result<(), Failure> {
    let sql = "SELECT v.record, v.id, v.scope, v.vector, r.occurred_at
        FROM (SELECT DISTINCT record FROM changes WHERE change > ?1) c CROSS JOIN vectors v ON v.record = c.record
        CROSS JOIN records r ON r.record = v.record";
    each(connection, sql, change, take)
}

fn each(connection: &Connection, sql: &str, change: i64, mut take: impl FnMut(StoredVector)) -> Result<(), Failure> {
    let mut prepared = connection.prepare_cached(sql)?;
    let mut rows = if prepared.parameter_count() > 0 { prepared.query([change])? } else { prepared.query([])? };
    while let Some(row) = rows.next()? {
        let bytes = row.get_ref(3)?.as_blob().map_err(rusqlite::Error::from)?;
        let values = bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        let embedding = Embedding::new(values).map_err(|_| Failure::corrupt("a vector"))?;
        let id = RecordId::from_bytes(row.get(1)?);
        take(StoredVector { row: row.get(0)?, id, scope: row.get(2)?, occurred_at: row.get(4)?, embedding });
    }
    Ok(())
}
