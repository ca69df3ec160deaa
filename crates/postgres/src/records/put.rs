//! Writes batches of records: decides on each write, then applies the resulting changes.

use std::collections::BTreeSet;

use memory_engine_core::{
    ContentHash, Index, Job, PutMode, Record, RecordId, Timestamp, Tombstone, Write, WriteResult,
};
use memory_engine_sql::{
    embedding_versions::{PARTS, StoredEmbeddingVersions, VectorTable},
    index_metadata::IndexMetadata,
    write::{NamespaceState, RecordWrite, decide},
};
use rustc_hash::{FxHashMap, FxHashSet};
use sqlx::{PgConnection, Row};
use uuid::Uuid;

use crate::{
    database::error::PostgresError,
    records::{bulk_insert::AssumedState, cascade, change},
    rows::{
        namespaces, row,
        scopes::{self, uuid},
        tombstones,
    },
};

/// Namespace and id of a record.
type RecordKey = (Uuid, RecordId);

/// The stored records of a batch, with the writes decided so far.
#[derive(Debug, Default)]
struct BatchState {
    versions: StoredEmbeddingVersions,
    /// The analyzer that the keyword index was made with.
    analyzer: Option<String>,
    records: FxHashMap<RecordKey, Record>,
    tombstones: FxHashSet<RecordKey>,
    /// Hashes of deleted contents. The value is true if all records with the content were only cascade-deleted.
    deleted_contents: FxHashMap<(Uuid, ContentHash), bool>,
}

/// Writes a batch of new records with a single statement, outside of a client transaction. Returns `None`, and writes
/// no record, if a decision depends on stored data. The caller then uses [`put`].
pub(crate) async fn put_new(
    connection: &mut PgConnection,
    metadata: &IndexMetadata,
    table: VectorTable,
    writes: &[Write],
    now: Timestamp,
) -> Result<Option<Vec<WriteResult>>, PostgresError> {
    let is_new = |write: &Write| write.based_on.is_empty() && !matches!(write.mode, PutMode::Update { .. });
    if !writes.iter().all(is_new) {
        return Ok(None);
    }
    let nothing_stored = BatchState::default();
    let keeps_vectors = true;
    // `put` repeats the decisions with the stored data, and reports an error that remains.
    let Ok(DecidedBatch { results, changes, cascading }) = decide_batch(nothing_stored, writes, keeps_vectors, now)
    else {
        return Ok(None);
    };
    if !cascading.is_empty() {
        // Records that were derived from a replaced text may be stored.
        return Ok(None);
    }
    let changes: Vec<RecordWrite> = changes.writes.into_iter().flatten().collect();
    let (keys, hashes) = state_keys(writes);
    let namespaces = writes.iter().map(|write| (scopes::namespace(&write.record.scope), &write.record.scope)).collect();
    let analyzer = metadata.maker(Index::Keywords);
    let space = metadata.space();
    let assumed = AssumedState { analyzer, space, namespaces, keys, hashes };
    let batch = change::bulk_insert(&changes, Some(table), now);
    Ok(batch.execute_if_new(connection, &assumed).await?.then_some(results))
}

/// Writes records with everything that is derived from them. After an error the caller rolls the transaction back.
pub(crate) async fn put(
    connection: &mut PgConnection,
    metadata: &IndexMetadata,
    writes: &[Write],
    now: Timestamp,
) -> Result<Vec<WriteResult>, PostgresError> {
    namespaces::lock(connection, writes.iter().map(|write| &write.record.scope)).await?;
    // Read after the lock: another writer may change the embedding versions or the analyzer before this transaction has
    // the lock. Afterwards the rebuild of an index waits for this transaction.
    let mut state = read_state(connection, writes).await?;
    let table = state.versions.table_for_new_records(metadata);
    let analyzer = state.analyzer.take();
    let DecidedBatch { mut results, changes, cascading } = decide_batch(state, writes, table.is_some(), now)?;
    let changes: Vec<RecordWrite> = changes.writes.into_iter().flatten().collect();
    if !changes.is_empty() {
        change::write_records(connection, &changes, table, now).await?;
    }
    if writes.iter().any(|write| write.terms.is_some()) {
        metadata.check(Index::Keywords, analyzer.as_deref(), "put")?;
    }
    let batch: BTreeSet<RecordId> = writes.iter().map(|write| write.record.id).collect();
    for (number, namespace) in cascading {
        let result = &mut results[number];
        let source = BTreeSet::from([result.id]);
        (result.cascade_deleted, _) =
            cascade::remove_derived_records(connection, namespace, &source, &batch, now).await?;
    }
    Ok(results)
}

/// The decisions on a batch.
#[derive(Debug, Default)]
struct DecidedBatch {
    results: Vec<WriteResult>,
    changes: BatchChanges,
    /// Index of the result and namespace of each write that deletes derived records.
    cascading: Vec<(usize, Uuid)>,
}

/// Decides on each write, given the stored records and the writes before it.
fn decide_batch(
    mut state: BatchState,
    writes: &[Write],
    keeps_vectors: bool,
    now: Timestamp,
) -> Result<DecidedBatch, PostgresError> {
    let mut batch = DecidedBatch::default();
    for write in writes {
        let namespace = scopes::namespace(&write.record.scope);
        let key = (namespace, write.record.id);
        let stored = Namespace { state: &state, namespace };
        let (result, change) = decide(write.clone(), state.records.get(&key), &stored, keeps_vectors, now)?;
        if let Some(change) = change {
            if change.cascades {
                batch.cascading.push((batch.results.len(), namespace));
            }
            state.records.insert(key, change.record.clone());
            batch.changes.add(key, change);
        }
        batch.results.push(result);
    }
    Ok(batch)
}

/// The writes of a batch, one for each record, in the order in which their jobs are queued.
#[derive(Debug, Default)]
struct BatchChanges {
    writes: Vec<Option<RecordWrite>>,
    /// Index in `writes` of the write to each record.
    indexes: FxHashMap<RecordKey, usize>,
}

impl BatchChanges {
    /// Adds a write. Of several writes to one record, the last one is stored. The last one with index entries
    /// determines the index entries and the position of the jobs. The record is new if the first write created it.
    fn add(&mut self, key: RecordKey, mut write: RecordWrite) {
        let Some(index) = self.indexes.get(&key).copied() else {
            self.indexes.insert(key, self.writes.len());
            self.writes.push(Some(write));
            return;
        };
        let is_reindexed = write.index.is_some();
        if let Some(earlier) = self.writes[index].take() {
            write.is_new |= earlier.is_new;
            write.index = write.index.or(earlier.index);
        }
        if is_reindexed {
            self.indexes.insert(key, self.writes.len());
            self.writes.push(Some(write));
        } else {
            self.writes[index] = Some(write);
        }
    }
}

/// The part of the state that belongs to one user.
struct Namespace<'s> {
    state: &'s BatchState,
    namespace: Uuid,
}

impl NamespaceState for Namespace<'_> {
    type Error = PostgresError;

    fn source_revision(&self, id: RecordId) -> Result<Option<u64>, PostgresError> {
        let source = self.state.records.get(&(self.namespace, id)).filter(|source| source.is_indexed());
        Ok(source.map(|source| source.revision))
    }

    fn has_tombstone(&self, id: RecordId) -> Result<bool, PostgresError> {
        Ok(self.state.tombstones.contains(&(self.namespace, id)))
    }

    fn deleted_content(&self, record: &Record) -> Result<Option<bool>, PostgresError> {
        Ok(self.state.deleted_contents.get(&(self.namespace, record.content_hash())).copied())
    }
}

/// Selects the index metadata, and the records, tombstones and deleted contents with the keys in the parameters. The
/// type of a row follows from the columns that are set.
const SELECT_STATE: &str = "
    SELECT NULL::uuid AS namespace, NULL::uuid AS id, NULL::bytea AS content_hash, NULL::boolean AS cascade_deleted,
           o.part, o.made_by
    FROM index_metadata o WHERE o.part = ANY ($5)
    UNION ALL
    SELECT r.namespace, r.id, NULL, NULL, NULL, NULL FROM unnest($1::uuid[], $2::uuid[]) k (namespace, id)
    JOIN records r ON r.namespace = k.namespace AND r.id = k.id
    UNION ALL
    SELECT b.namespace, b.id, NULL, b.cascade_deleted, NULL, NULL FROM unnest($1::uuid[], $2::uuid[]) k (namespace, id)
    JOIN tombstones b ON b.namespace = k.namespace AND b.id = k.id
    UNION ALL
    SELECT b.namespace, NULL, b.content_hash, b.cascade_deleted, NULL, NULL
    FROM unnest($3::uuid[], $4::bytea[]) k (namespace, content_hash)
    JOIN blocked_contents b ON b.namespace = k.namespace AND b.content_hash = k.content_hash";

/// Ids or hashes, each with its namespace, as two lists of the same length.
type NamespacedKeys<K> = (Vec<Uuid>, Vec<K>);

/// Returns the keys of the records and tombstones, and of the deleted contents, that the decisions depend on.
fn state_keys(writes: &[Write]) -> (NamespacedKeys<Uuid>, NamespacedKeys<Vec<u8>>) {
    let mut keys = NamespacedKeys::default();
    let mut hashes = NamespacedKeys::default();
    for Write { record, based_on, .. } in writes {
        let namespace = scopes::namespace(&record.scope);
        for id in [record.id].into_iter().chain(based_on.iter().map(|basis| basis.id)) {
            keys.0.push(namespace);
            keys.1.push(uuid(id));
        }
        if Tombstone::blocks_content_for(record.trust, false) {
            hashes.0.push(namespace);
            hashes.1.push(record.content_hash().as_bytes().to_vec());
        }
    }
    (keys, hashes)
}

async fn read_state(connection: &mut PgConnection, writes: &[Write]) -> Result<BatchState, PostgresError> {
    let ((namespaces, ids), (namespaces_of_hashes, hashes)) = state_keys(writes);
    let analyzer = Job::Keywords.as_str();
    let parts: Vec<_> = PARTS.into_iter().chain([analyzer]).collect();
    let query =
        sqlx::query(SELECT_STATE).bind(namespaces).bind(ids).bind(namespaces_of_hashes).bind(hashes).bind(parts);
    let mut state = BatchState::default();
    let mut record_namespaces = Vec::new();
    let mut record_ids = Vec::new();
    for row in query.fetch_all(&mut *connection).await? {
        match (row.try_get::<Option<Uuid>, _>("namespace")?, row.try_get::<Option<Uuid>, _>("id")?) {
            (None, _) if row.try_get::<&str, _>("part")? == analyzer => state.analyzer = row.try_get("made_by")?,
            (None, _) => state.versions.read_part(row.try_get("part")?, row.try_get("made_by")?),
            (Some(namespace), None) => {
                let hash = tombstones::content_hash(&row)?;
                state.deleted_contents.insert((namespace, hash), row.try_get("cascade_deleted")?);
            }
            (Some(namespace), Some(id)) if row.try_get::<Option<bool>, _>("cascade_deleted")?.is_some() => {
                state.tombstones.insert((namespace, scopes::record_id(id)));
            }
            (Some(namespace), Some(id)) => {
                record_namespaces.push(namespace);
                record_ids.push(id);
            }
        }
    }
    if !record_ids.is_empty() {
        for stored in row::find_by_keys(connection, &record_namespaces, &record_ids).await? {
            state.records.insert((stored.namespace, stored.record.id), stored.record);
        }
    }
    Ok(state)
}
