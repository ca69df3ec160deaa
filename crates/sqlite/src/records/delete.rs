//! Deletes records.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{DeletionReport, RecordId, Timestamp, Tombstone};
use memory_engine_sql::write;
use rusqlite::Connection;

use crate::{
    database::{change_log, error::SqliteError},
    records::{cascade, change::Changes, groups},
    rows::{
        scopes::{self, CoveredScope},
        stub,
    },
};

/// Deletes the records of these ids in the covered scope, and all records that are derived from them.
pub(crate) fn delete(
    connection: &Connection,
    covered: &CoveredScope,
    ids: &[RecordId],
    deleted_at: Timestamp,
) -> Result<DeletionReport, SqliteError> {
    let mut changes = Changes::new(connection, None, deleted_at);
    let mut deleted = BTreeSet::new();
    let mut by_namespace: BTreeMap<i64, BTreeSet<RecordId>> = BTreeMap::new();
    // The requested records first, then the derived ones: a requested record may be derived from another one.
    for id in ids {
        for stored in stub::find_all(connection, covered, *id)? {
            changes.delete(&stored, deleted_at, false)?;
            by_namespace.entry(stored.namespace).or_default().insert(*id);
            deleted.insert(*id);
        }
    }
    let mut cascaded = BTreeSet::new();
    let kept = BTreeSet::new();
    for (namespace, ids) in by_namespace {
        let derived = cascade::remove_derived_records(connection, namespace, &ids, &kept, deleted_at, &mut changes)?;
        cascaded.extend(derived);
    }
    groups::refresh_times(connection)?;
    change_log::trim(connection)?;
    Ok(write::deletion_report(ids, deleted, cascaded, changes.removed))
}

/// Deletes the records of the covered users that no scan and no id finds.
pub(crate) fn delete_unreachable(
    connection: &Connection,
    covered: &CoveredScope,
    deleted_at: Timestamp,
) -> Result<DeletionReport, SqliteError> {
    let mut changes = Changes::new(connection, None, deleted_at);
    let mut ids = Vec::new();
    for stored in stub::find_unreachable(connection, covered)? {
        changes.delete(&stored, deleted_at, false)?;
        ids.push(stored.stub.id);
    }
    groups::refresh_times(connection)?;
    change_log::trim(connection)?;
    Ok(DeletionReport { ids, removed: changes.removed })
}

/// Imports tombstones of another store: removes their records and all records derived from those. Returns the number of
/// imported tombstones that are new.
pub(crate) fn import_tombstones(
    connection: &Connection,
    tombstones: &[Tombstone],
    now: Timestamp,
) -> Result<u64, SqliteError> {
    let mut new_tombstones = 0;
    for tombstone in tombstones {
        let address = scopes::get_or_create(connection, &tombstone.scope)?;
        let old = stub::find(connection, address.namespace, tombstone.id)?;
        if old.is_some_and(|old| old.scope.is_some_and(|scope| scope != address.scope)) {
            // Another record has this id.
            continue;
        }
        let source = BTreeSet::from([tombstone.id]);
        let kept = BTreeSet::new();
        let mut changes = Changes::new(connection, None, now);
        cascade::remove_derived_records(connection, address.namespace, &source, &kept, now, &mut changes)?;
        let cascaded = changes.removed.tombstones;
        changes.apply_tombstone(tombstone)?;
        new_tombstones += changes.removed.tombstones - cascaded;
    }
    groups::refresh_times(connection)?;
    change_log::trim(connection)?;
    Ok(new_tombstones)
}
