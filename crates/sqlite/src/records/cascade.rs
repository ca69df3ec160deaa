//! Cascade deletion: removes derived records when their sources are deleted or change.
//!
//! Reasons: `docs/design/decisions/0012-derived-records-are-deleted-with-sources.md`.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{RecordId, Timestamp};
use memory_engine_sql::write;
use rusqlite::Connection;

use crate::{
    database::error::SqliteError,
    queue::job_rows,
    records::{change::Changes, derivations},
    rows::row,
};

/// Removes the records that are derived from `sources`, directly or indirectly, except `kept`, and stores their
/// tombstones. Queues the remaining sources of a removed record for the job that derives such records. Returns the ids
/// of the removed records, ascending.
pub(crate) fn remove_derived_records(
    connection: &Connection,
    namespace: i64,
    sources: &BTreeSet<RecordId>,
    kept: &BTreeSet<RecordId>,
    deleted_at: Timestamp,
    changes: &mut Changes<'_>,
) -> Result<Vec<RecordId>, SqliteError> {
    let mut derived = BTreeMap::new();
    for id in sources {
        let records = derivations::derived_records(connection, namespace, *id, None)?;
        let records = records.into_iter().map(|stored| (stored.stub.id, stored));
        derived.extend(records.filter(|(id, _)| !kept.contains(id) && !sources.contains(id)));
    }
    for record in derived.values() {
        changes.delete(record, deleted_at, true)?;
    }
    // After all removals, so that no source is queued that is removed itself.
    for (job, source) in write::source_jobs(derived.values().map(|stored| &stored.stub), sources) {
        if let Some(current) = row::current(connection, namespace, source)?.filter(|source| source.indexed) {
            job_rows::enqueue(connection, current.row, job, deleted_at)?;
        }
    }
    Ok(derived.into_keys().collect())
}
