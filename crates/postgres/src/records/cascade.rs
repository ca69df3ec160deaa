//! Cascades deletions: removes the records that were derived from deleted ones.
//!
//! Reasons: `docs/design/decisions/0012-derived-records-are-deleted-with-sources.md`.

use std::collections::BTreeSet;

use memory_engine_core::{RecordId, RemovalCounts, Timestamp};
use memory_engine_sql::write;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::{
    database::error::PostgresError,
    queue::job_rows::{self, QueueEntry},
    records::{change, derivations},
    rows::{row, scopes::uuid, stub::NewTombstone},
};

/// Removes the records that were derived from `sources`, directly or through others, except `kept`, and stores
/// tombstones. Queues their remaining sources for the job that derives such records. Returns the ids in order, and the
/// counts of removed data.
pub(crate) async fn remove_derived_records(
    connection: &mut PgConnection,
    namespace: Uuid,
    sources: &BTreeSet<RecordId>,
    kept: &BTreeSet<RecordId>,
    deleted_at: Timestamp,
) -> Result<(Vec<RecordId>, RemovalCounts), PostgresError> {
    let ids: Vec<RecordId> = sources.iter().copied().collect();
    let mut derived = derivations::derived_records(connection, namespace, &ids).await?;
    derived.retain(|record| !kept.contains(&record.stub.id));
    if derived.is_empty() {
        return Ok(Default::default());
    }
    let tombstones: Vec<_> = derived.iter().map(|record| NewTombstone::of(record, deleted_at, true)).collect();
    let removed = change::apply_tombstones(connection, namespace, &tombstones).await?;
    let jobs = write::source_jobs(derived.iter().map(|record| &record.stub), sources);
    let remaining: BTreeSet<RecordId> = jobs.iter().map(|(_, source)| *source).collect();
    let current = row::current_revisions(connection, namespace, &remaining.into_iter().collect::<Vec<_>>()).await?;
    let indexed: BTreeSet<RecordId> =
        current.iter().filter(|source| source.is_indexed).map(|source| source.id).collect();
    for (job, source) in jobs.into_iter().filter(|(_, source)| indexed.contains(source)) {
        job_rows::requeue_one(connection, namespace, &QueueEntry::new(job, uuid(source), deleted_at)).await?;
    }
    Ok((derived.into_iter().map(|record| record.stub.id).collect(), removed))
}
