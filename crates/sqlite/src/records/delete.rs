//! Deleting records.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{DeletionReport, RecordId, Timestamp, Tombstone};
use memory_engine_sql::write;
use rusqlite::Connection;

use crate::{
    cache::change_log,
    database::error::SqliteError,
    records::{
        cascade,
        change::Changes,
        row,
        scopes::{self, CoveredScope},
    },
};

/// Deletes the records of these ids within reach, and the records that were made from them.
pub(crate) fn delete(
    connection: &Connection,
    reach: &CoveredScope,
    ids: &[RecordId],
    deleted_at: Timestamp,
) -> Result<DeletionReport, SqliteError> {
    let mut applied = Changes::new(connection, None, deleted_at);
    let mut named = BTreeSet::new();
    let mut by_namespace: BTreeMap<i64, BTreeSet<RecordId>> = BTreeMap::new();
    // First all that are named, then what was made from any of them: one may have been made from another.
    for id in ids {
        for stored in row::all(connection, reach, *id)? {
            applied.import_tombstones(write::tombstone(&stored.record, deleted_at, false))?;
            by_namespace.entry(stored.place.namespace).or_default().insert(*id);
            named.insert(*id);
        }
    }
    let (mut cascaded, kept) = (BTreeSet::new(), BTreeSet::new());
    for (namespace, ids) in by_namespace {
        let made = cascade::remove_derived_records(connection, namespace, &ids, &kept, deleted_at, &mut applied)?;
        cascaded.extend(made);
    }
    change_log::trim(connection)?;
    Ok(write::deleted(ids, named, cascaded, applied.removed))
}

/// Applies tombstones of another store: removes the records that they name. Returns the number of new tombstones.
pub(crate) fn import_tombstones(
    connection: &Connection,
    tombstones: &[Tombstone],
    now: Timestamp,
) -> Result<u64, SqliteError> {
    let mut new = 0;
    for tombstone in tombstones {
        let place = scopes::settle(connection, &tombstone.scope)?;
        let old = row::named(connection, place.namespace, tombstone.id)?;
        if old.is_some_and(|old| old.record.scope != tombstone.scope) {
            continue; // The id belongs to another record.
        }
        let (source, kept) = (BTreeSet::from([tombstone.id]), BTreeSet::new());
        let mut applied = Changes::new(connection, None, now);
        cascade::remove_derived_records(connection, place.namespace, &source, &kept, now, &mut applied)?;
        let cascaded = applied.removed.tombstones;
        applied.import_tombstones(tombstone.clone())?;
        new += applied.removed.tombstones - cascaded;
    }
    change_log::trim(connection)?;
    Ok(new)
}
