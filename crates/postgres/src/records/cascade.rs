//! Removes records when what they were made from goes.

use std::collections::BTreeSet;

use memory_engine_core::{RecordId, RemovalCounts, Timestamp};
use memory_engine_sql::write::{self, RecordChange};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::{
    database::error::PostgresError,
    queue::backlog::{self, Ticket},
    records::{change, derivations, row, scopes::uuid},
};

/// Removes the records that were made from `sources`, directly or through others, except `kept`, and leaves
/// tombstones. Queues their other sources for the job that makes such records. Returns the ids in order, and what was
/// removed.
pub(crate) async fn remove_derived_records(
    connection: &mut PgConnection,
    ns: Uuid,
    sources: &BTreeSet<RecordId>,
    kept: &BTreeSet<RecordId>,
    deleted_at: Timestamp,
) -> Result<(Vec<RecordId>, RemovalCounts), PostgresError> {
    let ids: Vec<RecordId> = sources.iter().copied().collect();
    let mut made = derivations::made_from(connection, ns, &ids).await?;
    made.retain(|record| !kept.contains(&record.id));
    if made.is_empty() {
        return Ok(Default::default());
    }
    let tombstones = made.iter().map(|record| RecordChange::Remove(write::tombstone(record, deleted_at, true)));
    let removed = change::apply(connection, &tombstones.collect::<Vec<_>>(), None, deleted_at).await?;
    let jobs = write::source_jobs(&made, sources);
    let remaining: BTreeSet<RecordId> = jobs.iter().map(|(_, source)| *source).collect();
    let current = row::current(connection, ns, &remaining.into_iter().collect::<Vec<_>>()).await?;
    let indexed: BTreeSet<RecordId> = current.iter().filter(|source| source.indexed).map(|source| source.id).collect();
    for (job, source) in jobs.into_iter().filter(|(_, source)| indexed.contains(source)) {
        backlog::requeue_one(connection, ns, &Ticket::new(job, uuid(source), deleted_at)).await?;
    }
    Ok((made.into_iter().map(|record| record.id).collect(), removed))
}
