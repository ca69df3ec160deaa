//! The derivations of records: which record was made from which.

use memory_engine_core::{Record, RecordId, Scope};
use rusqlite::{Connection, params};

use crate::{
    database::error::SqliteError,
    records::row::{self, StoredRecord, selected},
    records::scopes::CoveredScope,
};

/// Writes down what a record was made from.
pub(crate) fn note(connection: &Connection, namespace: i64, row: i64, record: &Record) -> Result<(), SqliteError> {
    for source in &record.derived_from {
        connection
            .prepare_cached("INSERT OR IGNORE INTO derivations (namespace, source, record) VALUES (?1, ?2, ?3)")?
            .execute(params![namespace, source.as_bytes(), row])?;
    }
    Ok(())
}

/// Removes what [`note`] wrote down.
pub(crate) fn forget(connection: &Connection, namespace: i64, row: i64, record: &Record) -> Result<(), SqliteError> {
    for source in &record.derived_from {
        connection
            .prepare_cached("DELETE FROM derivations WHERE namespace = ?1 AND source = ?2 AND record = ?3")?
            .execute(params![namespace, source.as_bytes(), row])?;
    }
    Ok(())
}

/// The records that were made from one, directly or through others, by id.
pub(crate) fn made_from(
    connection: &Connection,
    namespace: i64,
    id: RecordId,
) -> Result<Vec<StoredRecord>, SqliteError> {
    let sql = concat!(
        "WITH RECURSIVE made (record, id) AS (
            SELECT m.record, m.id FROM derivations d JOIN records m ON m.record = d.record
            WHERE d.namespace = ?1 AND d.source = ?2
            UNION
            SELECT m.record, m.id FROM made x JOIN derivations d ON d.namespace = ?1 AND d.source = x.id
            JOIN records m ON m.record = d.record
         ) ",
        selected!("made x CROSS JOIN "),
        "WHERE r.record = x.record AND r.id <> ?2 ORDER BY r.id"
    );
    let mut prepared = connection.prepare_cached(sql)?;
    let mut rows = prepared.query(params![namespace, id.as_bytes()])?;
    let mut made = Vec::new();
    while let Some(row) = rows.next()? {
        made.push(row::read(row)?);
    }
    Ok(made)
}

/// The records within `scope` that were made from these, by id.
pub(crate) fn derived(connection: &Connection, scope: &Scope, ids: &[RecordId]) -> Result<Vec<RecordId>, SqliteError> {
    let Some(reach) = CoveredScope::of(connection, scope)? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for id in ids {
        for source in row::all(connection, &reach, *id)? {
            for made in made_from(connection, source.place.namespace, *id)? {
                let id = made.record.id;
                found.extend(scope.covers(&made.record.scope).then_some(id));
            }
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}
