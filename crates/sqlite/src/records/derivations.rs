//! The derivations of records: the sources that each record was made from.

use std::collections::BTreeSet;

use memory_engine_core::{Record, RecordId, Scope};
use rusqlite::{Connection, params};

use crate::{
    database::{error::SqliteError, statement::Statement},
    rows::{
        scopes::CoveredScope,
        stub::{self, StoredStub, stubs},
    },
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

/// Removes the derivations of a record from these sources.
pub(crate) fn remove(
    connection: &Connection,
    namespace: i64,
    row: i64,
    sources: &[RecordId],
) -> Result<(), SqliteError> {
    for source in sources {
        connection
            .prepare_cached("DELETE FROM derivations WHERE namespace = ?1 AND source = ?2 AND record = ?3")?
            .execute(params![namespace, source.as_bytes(), row])?;
    }
    Ok(())
}

/// Removes the derivations of a record whose sources cannot be read. Reads the whole table.
pub(crate) fn remove_all(connection: &Connection, row: i64) -> Result<(), SqliteError> {
    connection.execute("DELETE FROM derivations WHERE record = ?1", [row])?;
    Ok(())
}

/// Returns the records of a namespace that are derived from one, directly or indirectly, in the order of their ids.
/// With `covered`, only those in that scope.
pub(crate) fn derived_records(
    connection: &Connection,
    namespace: i64,
    id: RecordId,
    covered: Option<&CoveredScope>,
) -> Result<Vec<StoredStub>, SqliteError> {
    let id = id.as_bytes().to_vec();
    let mut statement = Statement::new(
        "WITH RECURSIVE derived (record, id) AS (
            SELECT m.record, m.id FROM derivations d JOIN records m ON m.record = d.record WHERE d.namespace = ",
    );
    statement.bind(namespace).push(" AND d.source = ").bind(id.clone());
    statement.push(" UNION SELECT m.record, m.id FROM derived x JOIN derivations d ON d.namespace = ").bind(namespace);
    statement.push(concat!(
        " AND d.source = x.id JOIN records m ON m.record = d.record) ",
        stubs!("derived x CROSS JOIN "),
        "WHERE r.record = x.record AND r.id <> "
    ));
    statement.bind(id);
    if let Some(covered) = covered {
        covered.push_stub_condition(statement.push(" AND "));
    }
    statement.push(" ORDER BY r.id");
    statement.read_all(connection, stub::read)
}

/// Returns the ids of the records within `scope` that are derived from these, ascending and each once.
pub(crate) fn derived(connection: &Connection, scope: &Scope, ids: &[RecordId]) -> Result<Vec<RecordId>, SqliteError> {
    let Some(covered) = CoveredScope::of(connection, scope)? else { return Ok(Vec::new()) };
    let mut derived_ids = BTreeSet::new();
    for id in ids {
        for source in stub::find_all(connection, &covered, *id)? {
            let derived = derived_records(connection, source.namespace, *id, Some(&covered))?;
            derived_ids.extend(derived.into_iter().map(|derived| derived.stub.id));
        }
    }
    Ok(derived_ids.into_iter().collect())
}
