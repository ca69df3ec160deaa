//! Which record was made from which, and what goes when one of them does.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{Job, Record, RecordId, Removed, Scope, Timestamp, Tombstone};
use rusqlite::{Connection, params};

use crate::{
    database::failure::Failure,
    queue::backlog,
    records::delete,
    records::row::{self, Stored, selected},
    records::scopes::Reach,
};

/// Notes what a record was made from.
pub(crate) fn note(connection: &Connection, namespace: i64, row: i64, record: &Record) -> Result<(), Failure> {
    for source in &record.derived_from {
        connection
            .prepare_cached("INSERT OR IGNORE INTO derivations (namespace, source, record) VALUES (?1, ?2, ?3)")?
            .execute(params![namespace, source.as_bytes(), row])?;
    }
    Ok(())
}

/// Forgets what a record was made from.
pub(crate) fn forget(connection: &Connection, namespace: i64, row: i64, record: &Record) -> Result<(), Failure> {
    for source in &record.derived_from {
        connection
            .prepare_cached("DELETE FROM derivations WHERE namespace = ?1 AND source = ?2 AND record = ?3")?
            .execute(params![namespace, source.as_bytes(), row])?;
    }
    Ok(())
}

/// The records that were made from one, directly or through others, by id.
fn made_from(connection: &Connection, namespace: i64, id: RecordId) -> Result<Vec<Stored>, Failure> {
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
pub(crate) fn derived(connection: &Connection, scope: &Scope, ids: &[RecordId]) -> Result<Vec<RecordId>, Failure> {
    let Some(reach) = Reach::of(connection, scope)? else { return Ok(Vec::new()) };
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

/// Removes what was made from records, but for `kept`, leaves tombstones, and gives the ids in order; queues what else it was
/// made from for the job that makes such records. Counts what went.
pub(crate) fn withdraw(
    connection: &Connection,
    namespace: i64,
    ids: &BTreeSet<RecordId>,
    kept: &BTreeSet<RecordId>,
    deleted_at: Timestamp,
    removed: &mut Removed,
) -> Result<Vec<RecordId>, Failure> {
    let mut made = BTreeMap::new();
    for id in ids {
        let from = made_from(connection, namespace, *id)?.into_iter().map(|stored| (stored.record.id, stored.record));
        made.extend(from.filter(|(id, _)| !kept.contains(id) && !ids.contains(id)));
    }
    for (id, record) in &made {
        let (scope, content_hash) = (record.scope.clone(), record.content_hash());
        let tombstone = Tombstone { id: *id, scope, content_hash, deleted_at, withdrawn: true };
        delete::entomb(connection, &tombstone, removed)?;
    }
    // Once all of it is gone: what is queued is there and stays there.
    for record in made.values() {
        let Some(job) = Job::making(&record.kind) else { continue };
        for source in record.derived_from.iter().filter(|source| !ids.contains(source)) {
            if let Some(current) = row::current(connection, namespace, *source)?.filter(|source| source.indexed) {
                backlog::enqueue(connection, current.row, job, deleted_at)?;
            }
        }
    }
    Ok(made.into_keys().collect())
}
