//! Applies a change to one record and to everything that is derived from it.

use memory_engine_core::{ContentHash, Record, RecordId, RemovalCounts, Timestamp, Tombstone};
use memory_engine_sql::{
    embedding_versions::VectorTable,
    write::{IndexEntries, RecordWrite},
};
use rusqlite::{Connection, params};

use crate::{
    database::{change_log, error::SqliteError},
    graph::graph_rows,
    keywords::keyword_rows,
    queue::job_rows,
    records::derivations,
    rows::{
        row::{self, StoredRecord},
        scopes::{self, RecordAddress},
        stub::{self, StoredStub},
    },
    vectors::vector_rows,
};

/// Applies changes to records within one transaction, and counts the removed items.
#[derive(Debug)]
pub(crate) struct Changes<'c> {
    connection: &'c Connection,
    /// The table for vectors that are written together with records; `None` if background jobs compute them.
    table: Option<VectorTable>,
    now: Timestamp,
    /// Number of removed items of each type.
    pub(crate) removed: RemovalCounts,
    /// True if a write replaced content, so that caches with the old content must be deleted.
    pub(crate) replaced_content: bool,
}

impl<'c> Changes<'c> {
    /// Returns the changes of one transaction. `now` is the time at which jobs are queued.
    pub(crate) fn new(connection: &'c Connection, table: Option<VectorTable>, now: Timestamp) -> Self {
        Self { connection, table, now, removed: RemovalCounts::default(), replaced_content: false }
    }

    /// Stores a tombstone, and removes the record of its namespace and id, if there is one.
    pub(crate) fn apply_tombstone(&mut self, tombstone: &Tombstone) -> Result<(), SqliteError> {
        let address = scopes::get_or_create(self.connection, &tombstone.scope)?;
        if let Some(old) = stub::find(self.connection, address.namespace, tombstone.id)? {
            self.remove(&old)?;
        }
        let Tombstone { id, content_hash, deleted_at, cascade_deleted, .. } = tombstone;
        let key = TombstoneKey { namespace: address.namespace, scope: address.scope, id: *id };
        self.store_tombstone(key, content_hash, *deleted_at, *cascade_deleted)
    }

    /// Deletes a record, and stores its tombstone. `cascade_deleted` is true if a source was deleted, not the
    /// record itself.
    pub(crate) fn delete(
        &mut self,
        stored: &StoredStub,
        deleted_at: Timestamp,
        cascade_deleted: bool,
    ) -> Result<(), SqliteError> {
        self.remove(stored)?;
        let StoredStub { namespace, stub, .. } = stored;
        let scope = match stored.scope {
            Some(scope) => scope,
            None => scopes::of_namespace(self.connection, *namespace)?,
        };
        let key = TombstoneKey { namespace: *namespace, scope, id: stub.id };
        self.store_tombstone(key, &stub.content_hash, deleted_at, cascade_deleted)
    }

    fn remove(&mut self, stored: &StoredStub) -> Result<(), SqliteError> {
        self.removed += remove_index_entries(self.connection, stored.row)?;
        self.removed.count(stored.stub.kind.as_str());
        match &stored.stub.derived_from {
            Some(sources) => derivations::remove(self.connection, stored.namespace, stored.row, sources)?,
            None => derivations::remove_all(self.connection, stored.row)?,
        }
        row::remove(self.connection, stored.row)
    }

    /// Stores a record at `address`; `old` is the record that is stored in that namespace under its id.
    pub(crate) fn write(
        &mut self,
        address: RecordAddress,
        old: Option<StoredRecord>,
        write: &RecordWrite,
    ) -> Result<(), SqliteError> {
        let connection = self.connection;
        let record = &write.record;
        let Some(old) = old else {
            let row = row::insert(connection, address, record)?;
            derivations::insert(connection, address.namespace, row, record)?;
            return write.index.iter().try_for_each(|entries| self.index(row, address, record, entries));
        };
        row::replace(connection, address, record)?;
        self.replaced_content |= !keeps_content(record, &old.record);
        if old.record.derived_from != record.derived_from {
            derivations::remove(connection, address.namespace, old.row, &old.record.derived_from)?;
            derivations::insert(connection, address.namespace, old.row, record)?;
        }
        if let Some(entries) = &write.index {
            remove_index_entries(connection, old.row)?;
            self.index(old.row, address, record, entries)?;
        } else {
            // Filters and the timeline use fields other than the indexed text.
            change_log::append(connection, old.row)?;
        }
        Ok(())
    }

    /// Stores the index entries of a record, and queues the jobs that compute the missing ones.
    fn index(
        &self,
        row: i64,
        address: RecordAddress,
        record: &Record,
        entries: &IndexEntries,
    ) -> Result<(), SqliteError> {
        if let Some(terms) = &entries.terms {
            keyword_rows::insert(self.connection, row, record.id, address, terms)?;
        }
        if let (Some(table), Some(embedding)) = (self.table, &entries.embedding) {
            vector_rows::insert(self.connection, table, row, record.id, address, embedding)?;
        }
        if entries.terms.is_some() || entries.embedding.is_some() {
            change_log::append(self.connection, row)?;
        }
        for job in &entries.jobs {
            job_rows::enqueue(self.connection, row, *job, self.now)?;
        }
        Ok(())
    }

    /// Stores a tombstone in place of an earlier one of its id, and blocks its content. Counts it if there was no
    /// earlier one.
    fn store_tombstone(
        &mut self,
        key: TombstoneKey,
        content_hash: &ContentHash,
        deleted_at: Timestamp,
        cascade_deleted: bool,
    ) -> Result<(), SqliteError> {
        let TombstoneKey { namespace, scope, id } = key;
        let hash = content_hash.as_bytes();
        // `cascade_deleted` is 0 for a deletion by the user, which takes precedence over 1, a cascade
        // deletion: hence `min`.
        self.connection
            .prepare_cached(
                "INSERT INTO blocked_contents (namespace, content_hash, cascade_deleted) VALUES (?1, ?2, ?3)
                 ON CONFLICT DO UPDATE SET cascade_deleted = min(cascade_deleted, excluded.cascade_deleted)",
            )?
            .execute(params![namespace, hash, cascade_deleted])?;
        let replaced = self
            .connection
            .prepare_cached("DELETE FROM tombstones WHERE namespace = ?1 AND id = ?2")?
            .execute(params![namespace, id.as_bytes()])?;
        self.connection
            .prepare_cached(
                "INSERT INTO tombstones (namespace, id, scope, content_hash, deleted_at, cascade_deleted)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![namespace, id.as_bytes(), scope, hash, deleted_at.as_micros(), cascade_deleted])?;
        self.removed.tombstones += u64::from(replaced == 0);
        Ok(())
    }
}

/// The place of a tombstone.
struct TombstoneKey {
    namespace: i64,
    scope: i64,
    id: RecordId,
}

/// Returns true if the new record has all content of the old one: they differ at most in state, kind, trust,
/// confidence, importance, validity, pin, expiry and `occurred_at`, and in a topic, emotion or entities that the old
/// one did not have.
fn keeps_content(new: &Record, old: &Record) -> bool {
    let mut expected = old.clone();
    expected.topic = expected.topic.or_else(|| new.topic.clone());
    expected.emotion = expected.emotion.or_else(|| new.emotion.clone());
    if expected.entities.is_empty() {
        expected.entities.clone_from(&new.entities);
    }
    expected.state = new.state;
    expected.kind = new.kind.clone();
    expected.trust = new.trust;
    expected.confidence = new.confidence;
    expected.importance = new.importance;
    expected.valid_from = new.valid_from;
    expected.valid_until = new.valid_until;
    expected.pinned = new.pinned;
    expected.expires_at = new.expires_at;
    expected.occurred_at = new.occurred_at;
    expected.same_content(new)
}

/// Removes all index entries of a record, and its queued jobs. Returns the number of removed items of each type.
fn remove_index_entries(connection: &Connection, row: i64) -> Result<RemovalCounts, SqliteError> {
    let mut removed = graph_rows::remove(connection, row)?;
    removed.keywords = u64::from(keyword_rows::remove(connection, row)?);
    removed.vectors = u64::from(vector_rows::remove(connection, row)?);
    if removed.keywords + removed.vectors > 0 {
        change_log::append(connection, row)?;
    }
    removed.queued = job_rows::dequeue(connection, row)?;
    Ok(removed)
}
