//! Applies changes to records, together with their index entries and queue entries.

use std::collections::BTreeMap;

use memory_engine_core::{Record, RemovalCounts, Timestamp};
use memory_engine_sql::{embedding_versions::VectorTable, write::RecordWrite};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::{
    database::error::PostgresError,
    graph::graph_rows,
    keywords::keyword_rows::{self, KeywordDocument},
    queue::job_rows::{self, QueueEntry},
    records::bulk_insert::BulkInsert,
    rows::{
        row,
        scopes::{self, uuid},
        stub::NewTombstone,
    },
    vectors::vector_rows,
};

/// Stores records of any number of namespaces with their index entries.
/// Vectors of the records go to `table`; without a table they are dropped.
pub(crate) async fn write_records(
    connection: &mut PgConnection,
    writes: &[RecordWrite],
    table: Option<VectorTable>,
    now: Timestamp,
) -> Result<(), PostgresError> {
    let mut replaced_by_namespace: BTreeMap<Uuid, (Vec<&Record>, Vec<Uuid>)> = BTreeMap::new();
    for write in writes.iter().filter(|write| !write.is_new) {
        let (replaced, reindexed) = replaced_by_namespace.entry(scopes::namespace(&write.record.scope)).or_default();
        replaced.push(&write.record);
        if write.index.is_some() {
            reindexed.push(uuid(write.record.id));
        }
    }
    for (namespace, (replaced, reindexed)) in replaced_by_namespace {
        row::replace(connection, namespace, &replaced).await?;
        if !reindexed.is_empty() {
            remove_entries(connection, namespace, &reindexed).await?;
        }
    }
    bulk_insert(writes, table, now).execute(connection).await
}

/// Returns the insertion of new records, and of the new index entries and queue entries of records.
pub(crate) fn bulk_insert<'a>(
    writes: impl IntoIterator<Item = &'a RecordWrite>,
    table: Option<VectorTable>,
    now: Timestamp,
) -> BulkInsert<'a> {
    let mut batch = BulkInsert::new(table.unwrap_or_default());
    for write in writes {
        let record = &write.record;
        if write.is_new {
            batch.add_record(record);
        }
        let Some(entries) = &write.index else { continue };
        if let Some(terms) = &entries.terms {
            batch.add_document(record, KeywordDocument::of(record, terms));
        }
        if let (Some(embedding), Some(_)) = (&entries.embedding, table) {
            batch.add_vector(record, embedding);
        }
        for job in &entries.jobs {
            batch.add_queue_entry(record, QueueEntry::new(*job, uuid(record.id), now));
        }
    }
    batch
}

/// Removes records from the indexes and the queue. Returns the counts of removed data.
async fn remove_entries(
    connection: &mut PgConnection,
    namespace: Uuid,
    ids: &[Uuid],
) -> Result<RemovalCounts, PostgresError> {
    let mut removed = graph_rows::remove(connection, namespace, ids).await?;
    removed.keywords = keyword_rows::remove(connection, namespace, ids).await?;
    removed.vectors = vector_rows::remove(connection, namespace, ids).await?;
    removed.queued = job_rows::remove(connection, namespace, ids).await?;
    Ok(removed)
}

/// Removes the records of tombstones of one locked namespace, and stores the tombstones. Their addresses must exist. Of
/// two tombstones with the same id, the later one is stored. Returns the counts of removed data.
pub(crate) async fn apply_tombstones(
    connection: &mut PgConnection,
    namespace: Uuid,
    tombstones: &[NewTombstone],
) -> Result<RemovalCounts, PostgresError> {
    let by_id: BTreeMap<Uuid, &NewTombstone> =
        tombstones.iter().map(|tombstone| (uuid(tombstone.id), tombstone)).collect();
    let ids: Vec<Uuid> = by_id.keys().copied().collect();
    let mut removed = remove_entries(connection, namespace, &ids).await?;
    for kind in row::remove(connection, namespace, &ids).await? {
        removed.count(&kind);
    }
    let hashes = |tombstones: &mut dyn Iterator<Item = &NewTombstone>| -> Vec<Vec<u8>> {
        tombstones.map(|tombstone| tombstone.content_hash.as_bytes().to_vec()).collect()
    };
    sqlx::query(
        "INSERT INTO blocked_contents (namespace, content_hash, cascade_deleted)
         SELECT $1::uuid, x.hash, bool_and(x.cascade_deleted)
         FROM unnest($2::bytea[], $3::boolean[]) x (hash, cascade_deleted)
         GROUP BY x.hash
         ON CONFLICT (namespace, content_hash) DO UPDATE
         SET cascade_deleted = blocked_contents.cascade_deleted AND excluded.cascade_deleted",
    )
    .bind(namespace)
    .bind(hashes(&mut tombstones.iter()))
    .bind(tombstones.iter().map(|tombstone| tombstone.cascade_deleted).collect::<Vec<_>>())
    .execute(&mut *connection)
    .await?;
    let of_user = match tombstones.iter().any(|tombstone| tombstone.address.is_none()) {
        true => scopes::insert_user_address(connection, namespace).await?,
        false => Uuid::nil(),
    };
    let replaced = sqlx::query("DELETE FROM tombstones b WHERE b.namespace = $1 AND b.id = ANY ($2)")
        .bind(namespace)
        .bind(&ids)
        .execute(&mut *connection)
        .await?;
    sqlx::query(
        "INSERT INTO tombstones (namespace, id, scope, content_hash, deleted_at, cascade_deleted)
         SELECT $1, x.* FROM unnest($2::uuid[], $3::uuid[], $4::bytea[], $5::bigint[], $6::boolean[]) x",
    )
    .bind(namespace)
    .bind(&ids)
    .bind(by_id.values().map(|tombstone| tombstone.address.unwrap_or(of_user)).collect::<Vec<_>>())
    .bind(hashes(&mut by_id.values().copied()))
    .bind(by_id.values().map(|tombstone| tombstone.deleted_at.as_micros()).collect::<Vec<_>>())
    .bind(by_id.values().map(|tombstone| tombstone.cascade_deleted).collect::<Vec<_>>())
    .execute(connection)
    .await?;
    removed.tombstones += ids.len() as u64 - replaced.rows_affected();
    Ok(removed)
}
