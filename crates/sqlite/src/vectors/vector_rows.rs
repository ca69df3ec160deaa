//! The rows of the vector tables.

use memory_engine_core::{DamagedRecord, Embedding, MultiVector, RecordId, Scope};
use memory_engine_vector_store::VectorEntry;
use rusqlite::{CachedStatement, Connection, Row, params, params_from_iter, types::ValueRef};

use crate::{
    database::{change_log, error::SqliteError},
    rows::{
        addresses::AddressCache,
        row,
        scopes::{self, CoveredScope, RecordAddress},
    },
};
use memory_engine_sql::embedding_versions::VectorTable;

/// Stores the vectors of the entries. An entry is skipped if its record was deleted, moved or written again since.
pub(crate) fn upsert(connection: &Connection, table: VectorTable, entries: &[VectorEntry]) -> Result<(), SqliteError> {
    for VectorEntry { record, embedding, tokens } in entries {
        let address = scopes::get_or_create(connection, &record.scope)?;
        let Some(current) = row::current(connection, address.namespace, record.id)? else { continue };
        if current.matches(record, address) {
            insert(connection, table, current.row, record.id, address, embedding)?;
            if let Some(tokens) = tokens {
                insert_tokens(connection, table, current.row, tokens)?;
            }
            change_log::append(connection, current.row)?;
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
    address: RecordAddress,
    embedding: &Embedding,
) -> Result<(), SqliteError> {
    let vector: Vec<u8> = embedding.values().iter().flat_map(|value| value.to_le_bytes()).collect();
    let sql = format!("INSERT OR REPLACE INTO {} (record, id, scope, vector) VALUES (?1, ?2, ?3, ?4)", table.name());
    connection.prepare_cached(&sql)?.execute(params![row, id.as_bytes(), address.scope, vector])?;
    Ok(())
}

/// Stores the token vectors of a record that has a vector in the table and no token vectors.
fn insert_tokens(
    connection: &Connection,
    table: VectorTable,
    row: i64,
    tokens: &MultiVector,
) -> Result<(), SqliteError> {
    let sql = format!("INSERT INTO {} (record, tokens) VALUES (?1, ?2)", table.token_table());
    connection.prepare_cached(&sql)?.execute(params![row, tokens.to_bytes()])?;
    Ok(())
}

/// Returns the token vectors of these records, aligned with `ids`; `None` for one that has none or is outside `scope`.
pub(crate) fn token_vectors(
    connection: &Connection,
    table: VectorTable,
    addresses: &AddressCache,
    scope: &Scope,
    ids: &[RecordId],
) -> Result<Vec<Option<MultiVector>>, SqliteError> {
    let sql = format!(
        "SELECT r.scope, t.tokens FROM records r LEFT JOIN {} t ON t.record = r.record WHERE r.id = ?1",
        table.token_table()
    );
    let found = addresses.read_by_ids(connection, scope, &sql, ids, |row, id, covered, number| {
        if addresses.user(connection, covered, number)?.is_none() {
            return Ok(None);
        }
        let bytes = row.get_ref(1)?.as_blob_or_null().map_err(rusqlite::Error::from)?;
        let tokens = bytes.map(MultiVector::from_bytes).transpose();
        if tokens.is_err() {
            DamagedRecord::new(id, table.token_table(), "tokens").warn();
        }
        Ok(Some(tokens.unwrap_or_default()))
    })?;
    Ok(found.into_iter().map(Option::flatten).collect())
}

/// Removes the vectors of a record, and with them its token vectors, from both embedding versions. Returns true if it
/// had a vector; then the caller logs the change.
pub(crate) fn remove(connection: &Connection, row: i64) -> Result<bool, SqliteError> {
    let mut removed = 0;
    for table in VectorTable::ALL {
        let sql = format!("DELETE FROM {} WHERE record = ?1", table.name());
        removed += connection.prepare_cached(&sql)?.execute([row])?;
    }
    Ok(removed > 0)
}

/// Removes the vectors of those of these records that the scope covers. Returns the number of records that had one.
pub(crate) fn delete(connection: &Connection, covered: &CoveredScope, ids: &[RecordId]) -> Result<u64, SqliteError> {
    let mut removed = 0;
    for id in ids {
        for row in row::find_rows(connection, covered, *id)? {
            if remove(connection, row)? {
                change_log::append(connection, row)?;
                removed += 1;
            }
        }
    }
    change_log::trim(connection)?;
    Ok(removed)
}

/// Removes all vectors of a table, and invalidates loaded indexes.
pub(crate) fn clear(connection: &Connection, table: VectorTable) -> Result<(), SqliteError> {
    connection.execute(&format!("DELETE FROM {}", table.name()), [])?;
    change_log::invalidate_all(connection)
}

/// A stored vector, with the row of its record.
pub(crate) struct StoredVector {
    pub(crate) row: i64,
    pub(crate) id: RecordId,
    pub(crate) scope: i64,
    /// The time at which its record occurred, in microseconds.
    pub(crate) occurred_at: i64,
    pub(crate) embedding: Embedding,
}

/// Passes every vector of a table to `visit`.
pub(crate) fn for_each(
    connection: &Connection,
    table: VectorTable,
    visit: impl FnMut(StoredVector),
) -> Result<(), SqliteError> {
    let sql = format!(
        "SELECT v.record, v.id, v.scope, v.vector, r.occurred_at
         FROM {} v CROSS JOIN records r ON r.record = v.record",
        table.name()
    );
    for_each_row(connection, &sql, None, visit)
}

/// Returns the greatest row number in a table; 0 if it is empty.
pub(crate) fn last_row(connection: &Connection, table: VectorTable) -> Result<i64, SqliteError> {
    let sql = format!("SELECT coalesce(max(record), 0) FROM {}", table.name());
    Ok(connection.prepare_cached(&sql)?.query_row([], |row| row.get(0))?)
}

/// Passes about `count` vectors of a table, evenly distributed over the row numbers, to `visit`; fewer if many numbers
/// are not used. `count` must be greater than 0.
pub(crate) fn for_each_sampled(
    connection: &Connection,
    table: VectorTable,
    count: i64,
    mut visit: impl FnMut(StoredVector),
) -> Result<(), SqliteError> {
    let last_row = last_row(connection, table)?;
    let sql = format!(
        "SELECT v.record, v.id, v.scope, v.vector, r.occurred_at
         FROM (SELECT record FROM {0} WHERE record >= ?1 ORDER BY record LIMIT 1) n
         CROSS JOIN {0} v ON v.record = n.record CROSS JOIN records r ON r.record = v.record",
        table.name()
    );
    let mut next = 0;
    while next <= last_row {
        let mut found = next;
        for_each_row(connection, &sql, Some(next), |vector| {
            found = vector.row;
            visit(vector);
        })?;
        next = found + (last_row / count).max(1);
    }
    Ok(())
}

/// Passes every vector that has changed after `change`, and still exists, to `visit`.
pub(crate) fn for_each_changed(
    connection: &Connection,
    table: VectorTable,
    change: i64,
    visit: impl FnMut(StoredVector),
) -> Result<(), SqliteError> {
    let sql = format!(
        "SELECT v.record, v.id, v.scope, v.vector, r.occurred_at
         FROM (SELECT DISTINCT record FROM changes WHERE change > ?1) c CROSS JOIN {} v ON v.record = c.record
         CROSS JOIN records r ON r.record = v.record",
        table.name()
    );
    for_each_row(connection, &sql, Some(change), visit)
}

/// Looks up the vectors of single rows.
pub(crate) struct VectorLookup<'c> {
    prepared: CachedStatement<'c>,
}

impl<'c> VectorLookup<'c> {
    pub(crate) fn new(connection: &'c Connection, table: VectorTable) -> Result<Self, SqliteError> {
        let sql = format!("SELECT vector FROM {} WHERE record = ?1", table.name());
        Ok(Self { prepared: connection.prepare_cached(&sql)? })
    }

    /// Returns the vector of a row, if there is one that can be read.
    pub(crate) fn vector(&mut self, row: i64) -> Result<Option<Embedding>, SqliteError> {
        let mut rows = self.prepared.query([row])?;
        Ok(rows.next()?.and_then(|row| decode(row.get_ref(0).ok()?)))
    }
}

/// Decodes little-endian single-precision numbers. Returns `None` if they are not a vector.
fn decode(stored: ValueRef<'_>) -> Option<Embedding> {
    let bytes = stored.as_blob().ok()?;
    let values = bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    Embedding::new(values).ok()
}

/// Runs a statement with at most one parameter, and passes each vector to `visit`. Leaves out a row that cannot be
/// read, and reports it.
fn for_each_row(
    connection: &Connection,
    sql: &str,
    parameter: Option<i64>,
    mut visit: impl FnMut(StoredVector),
) -> Result<(), SqliteError> {
    let mut prepared = connection.prepare_cached(sql)?;
    let mut rows = prepared.query(params_from_iter(parameter))?;
    while let Some(row) = rows.next()? {
        match read(row) {
            Some(vector) => visit(vector),
            None => {
                let id = row::readable_id(row.get_ref(1)?.as_bytes().unwrap_or_default());
                DamagedRecord::new(id, "vectors", "vector").warn();
            }
        }
    }
    Ok(())
}

fn read(row: &Row<'_>) -> Option<StoredVector> {
    Some(StoredVector {
        row: row.get(0).ok()?,
        id: RecordId::from_bytes(row.get(1).ok()?),
        scope: row.get(2).ok()?,
        embedding: decode(row.get_ref(3).ok()?)?,
        occurred_at: row.get(4).ok()?,
    })
}
