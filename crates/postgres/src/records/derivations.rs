//! Which record was made from which, and what goes when one of them does.

use std::collections::BTreeSet;

use memory_engine_core::{Job, Record, RecordId, Removed, Scope, Timestamp, Tombstone};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::{
    database::failure::Failure,
    queue::backlog::{self, Ticket},
    records::delete,
    records::row::{self, selected},
    records::scopes::{Reach, record_id, uuid, uuids},
};

const MADE_FROM: &str = concat!(
    "WITH RECURSIVE made (id) AS (
        SELECT m.id FROM records m WHERE m.ns = $1 AND m.derived_from <> '{}' AND m.derived_from && $2
        UNION
        SELECT m.id FROM made x
        JOIN records m ON m.ns = $1 AND m.derived_from <> '{}' AND m.derived_from @> ARRAY[x.id]
     ) ",
    selected!("made x JOIN records r ON r.ns = $1 AND r.id = x.id"),
    "WHERE NOT r.id = ANY ($2) ORDER BY r.id"
);

/// The records of a namespace that were made from these, directly or through others, by id.
async fn made_from(connection: &mut PgConnection, ns: Uuid, ids: &[RecordId]) -> Result<Vec<Record>, Failure> {
    let rows = sqlx::query(MADE_FROM).bind(ns).bind(uuids(ids)).fetch_all(connection).await?;
    rows.iter().map(|row| Ok(row::read(row)?.record)).collect()
}

/// For each of several records those that were made from it: one may have been made from another of them.
const DERIVED: &str = "WITH RECURSIVE made (source, id) AS (
        SELECT s.id, m.id FROM unnest($2::uuid[]) s (id)
        JOIN records m ON m.ns = $1 AND m.derived_from <> '{}' AND m.derived_from @> ARRAY[s.id]
        UNION
        SELECT x.source, m.id FROM made x
        JOIN records m ON m.ns = $1 AND m.derived_from <> '{}' AND m.derived_from @> ARRAY[x.id]
     ) SELECT DISTINCT x.id FROM made x WHERE x.id <> x.source";

/// The records within `scope` that were made from these, by id.
pub(crate) async fn derived(
    connection: &mut PgConnection,
    scope: &Scope,
    ids: &[RecordId],
) -> Result<Vec<RecordId>, Failure> {
    let reach = Reach::of(scope);
    let mut found = BTreeSet::new();
    for (ns, sources) in row::keys(connection, &reach, ids).await? {
        let made: Vec<Uuid> = sqlx::query_scalar(DERIVED).bind(ns).bind(sources).fetch_all(&mut *connection).await?;
        let made: Vec<RecordId> = made.into_iter().map(record_id).collect();
        let within = row::keys(connection, &reach.within(ns), &made).await?;
        found.extend(within.into_values().flatten().map(record_id));
    }
    Ok(found.into_iter().collect())
}

/// Removes what was made from records, but for `kept`, leaves tombstones, and gives the ids in order; queues what else it was
/// made from for the job that makes such records. Counts what went.
pub(crate) async fn withdraw(
    connection: &mut PgConnection,
    ns: Uuid,
    ids: &[RecordId],
    kept: &BTreeSet<RecordId>,
    deleted_at: Timestamp,
    removed: &mut Removed,
) -> Result<Vec<RecordId>, Failure> {
    let mut made = made_from(connection, ns, ids).await?;
    made.retain(|record| !kept.contains(&record.id));
    if made.is_empty() {
        return Ok(Vec::new());
    }
    let tombstone = |record: &Record| {
        let (scope, content_hash) = (record.scope.clone(), record.content_hash());
        Tombstone { id: record.id, scope, content_hash, deleted_at, withdrawn: true }
    };
    let tombstones: Vec<Tombstone> = made.iter().map(tombstone).collect();
    delete::bury_in(connection, ns, &tombstones.iter().collect::<Vec<_>>(), removed).await?;
    let sources: BTreeSet<RecordId> = made.iter().flat_map(|record| record.derived_from.iter().copied()).collect();
    let sources: Vec<RecordId> = sources.into_iter().filter(|source| !ids.contains(source)).collect();
    let there = row::current(connection, ns, &sources).await?;
    let there: BTreeSet<RecordId> = there.into_iter().filter(|source| source.indexed).map(|source| source.id).collect();
    for record in &made {
        let Some(job) = Job::making(&record.kind) else { continue };
        for source in record.derived_from.iter().filter(|source| there.contains(source)) {
            backlog::requeue_one(connection, ns, &Ticket::new(job, uuid(*source), deleted_at)).await?;
        }
    }
    Ok(made.into_iter().map(|record| record.id).collect())
}
