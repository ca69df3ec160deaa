//! The derivations of records: the sources that each record was made from.

use memory_engine_core::{Record, RecordId, Scope};
use rusqlite::{Connection, params};

use crate::{
    database::error::SqliteError,
    records::row::{self, StoredRecord, selected},
    records::scopes::CoveredScope,
};

/// Stores the sources of a record.
pub(crate) fn insert(connection: &Connection, namespace: i64, row: i64, record: &Record) -> Result<(), SqliteError> {
    for source in &record.derived_from {
        connection
            .prepare_cached("INSERT OR IGNORE INTO derivations (namespace, source, record) VALUES (?1, ?2, ?3)")?
            .execute(params![namespace, source.as_bytes(), row])?;
    }
    Ok(())
}

/// Removes the sources that [`insert`] has stored.
pub(crate) fn remove(connection: &Connection, namespace: i64, row: i64, record: &Record) -> Result<(), SqliteError> {
    for source in &record.derived_from {
        connection
            .prepare_cached("DELETE FROM derivations WHERE namespace = ?1 AND source = ?2 AND record = ?3")?
            .execute(params![namespace, source.as_bytes(), row])?;
    }
    Ok(())
}

/// Returns the records that are derived from one, directly or indirectly, in the order of their ids.
pub(crate) fn derived_records(
    connection: &Connection,
    namespace: i64,
    id: RecordId,
) -> Result<Vec<StoredRecord>, SqliteError> {
    let sql = concat!(
        "WITH RECURSIVE derived (record, id) AS (
            SELECT m.record, m.id FROM derivations d JOIN records m ON m.record = d.record
            WHERE d.namespace = ?1 AND d.source = ?2
            UNION
            SELECT m.record, m.id FROM derived x JOIN derivations d ON d.namespace = ?1 AND d.source = x.id
            JOIN records m ON m.record = d.record
         ) ",
        selected!("derived x CROSS JOIN "),
        "WHERE r.record = x.record AND r.id <> ?2 ORDER BY r.id"
    );
    let mut prepared = connection.prepare_cached(sql)?;
    let mut rows = prepared.query(params![namespace, id.as_bytes()])?;
    let mut derived = Vec::new();
    while let Some(row) = rows.next()? {
        derived.push(row::read(row)?);
    }
    Ok(derived)
}

/// Returns the ids of the records within `scope` that are derived from these, ascending and each once.
pub(crate) fn derived(connection: &Connection, scope: &Scope, ids: &[RecordId]) -> Result<Vec<RecordId>, SqliteError> {
    let Some(covered) = CoveredScope::of(connection, scope)? else { return Ok(Vec::new()) };
    let mut derived_ids = Vec::new();
    for id in ids {
        for source in row::find_all(connection, &covered, *id)? {
            for derived in derived_records(connection, source.address.namespace, *id)? {
                if scope.covers(&derived.record.scope) {
                    derived_ids.push(derived.record.id);
                }
            }
        }
    }
    derived_ids.sort();
    derived_ids.dedup();
    Ok(derived_ids)
}
