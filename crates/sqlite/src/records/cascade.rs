//! Removes records when what they were made from goes.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{RecordId, Timestamp};
use memory_engine_sql::write;
use rusqlite::Connection;

use crate::{
    database::error::SqliteError,
    queue::backlog,
    records::{change::Changes, derivations, row},
};

/// Removes the records that were made from `sources`, directly or through others, except `kept`, and leaves
/// tombstones. Queues their other sources for the job that makes such records. Returns the ids in order.
pub(crate) fn remove_derived_records(
    connection: &Connection,
    namespace: i64,
    sources: &BTreeSet<RecordId>,
    kept: &BTreeSet<RecordId>,
    deleted_at: Timestamp,
    changes: &mut Changes<'_>,
) -> Result<Vec<RecordId>, SqliteError> {
    let mut made = BTreeMap::new();
    for id in sources {
        let records = derivations::made_from(connection, namespace, *id)?;
        let records = records.into_iter().map(|stored| (stored.record.id, stored.record));
        made.extend(records.filter(|(id, _)| !kept.contains(id) && !sources.contains(id)));
    }
    for record in made.values() {
        changes.import_tombstones(write::tombstone(record, deleted_at, true))?;
    }
    // After all removals: a source that is queued here is a record that stays.
    for (job, source) in write::source_jobs(made.values(), sources) {
        if let Some(current) = row::current(connection, namespace, source)?.filter(|source| source.indexed) {
            backlog::enqueue(connection, current.row, job, deleted_at)?;
        }
    }
    Ok(made.into_keys().collect())
}
