//! Applies a change to one record and to everything that is derived from it.

use memory_engine_core::{Record, RemovalCounts, Timestamp, Tombstone};
use memory_engine_sql::{
    embedding_versions::VectorTable,
    write::{IndexEntries, RecordChange, RecordWrite},
};
use rusqlite::{Connection, params};

use crate::{
    cache::change_log,
    database::error::SqliteError,
    graph::graph_rows,
    keywords::keyword_store,
    queue::backlog,
    records::{
        derivations,
        row::{self, StoredRecord},
        scopes::{self, RecordAddress},
    },
    vectors::vector_store,
};

/// Applies changes to records within one transaction, and counts what they remove.
#[derive(Debug)]
pub(crate) struct Changes<'c> {
    connection: &'c Connection,
    /// The table for vectors that come with records; `None` if they are made in the background.
    table: Option<VectorTable>,
    now: Timestamp,
    /// Numbers of items removed by the changes.
    pub(crate) removed: RemovalCounts,
    /// True if a write replaced content, so that caches with the old content must be deleted.
    pub(crate) overwrote: bool,
}

impl<'c> Changes<'c> {
    /// Returns the changes of one transaction. `now` is the time at which jobs are queued.
    pub(crate) fn new(connection: &'c Connection, table: Option<VectorTable>, now: Timestamp) -> Self {
        Self { connection, table, now, removed: RemovalCounts::default(), overwrote: false }
    }

    /// Applies a change to the record at `place`; `old` is the record that is stored there under its id.
    pub(crate) fn apply(
        &mut self,
        place: RecordAddress,
        old: Option<StoredRecord>,
        change: &RecordChange,
    ) -> Result<(), SqliteError> {
        match change {
            RecordChange::Write(write) => self.write(place, old, write),
            RecordChange::Remove(tombstone) => self.remove(place, old, tombstone),
        }
    }

    /// Removes the record that a tombstone names, wherever it is, and keeps the tombstone.
    pub(crate) fn import_tombstones(&mut self, tombstone: Tombstone) -> Result<(), SqliteError> {
        let place = scopes::settle(self.connection, &tombstone.scope)?;
        let old = row::named(self.connection, place.namespace, tombstone.id)?;
        self.apply(place, old, &RecordChange::Remove(tombstone))
    }

    fn write(
        &mut self,
        place: RecordAddress,
        old: Option<StoredRecord>,
        write: &RecordWrite,
    ) -> Result<(), SqliteError> {
        let connection = self.connection;
        let record = &write.record;
        let Some(old) = old else {
            let row = row::insert(connection, place, record)?;
            derivations::note(connection, place.namespace, row, record)?;
            return write.index.iter().try_for_each(|entries| self.index(row, place, record, entries));
        };
        row::replace(connection, place, record)?;
        self.overwrote |= !has_same_content(record, &old.record);
        if old.record.derived_from != record.derived_from {
            derivations::forget(connection, place.namespace, old.row, &old.record)?;
            derivations::note(connection, place.namespace, old.row, record)?;
        }
        if let Some(entries) = &write.index {
            remove_derived(connection, old.row)?;
            self.index(old.row, place, record, entries)?;
        } else {
            // Filters and the timeline use fields other than the indexed text.
            change_log::note(connection, old.row)?;
        }
        Ok(())
    }

    /// Takes a record into the indexes and queues it for the rest.
    fn index(
        &self,
        row: i64,
        place: RecordAddress,
        record: &Record,
        entries: &IndexEntries,
    ) -> Result<(), SqliteError> {
        if let Some(terms) = &entries.terms {
            keyword_store::insert(self.connection, row, record.id, place, terms)?;
        }
        if let (Some(table), Some(embedding)) = (self.table, &entries.embedding) {
            vector_store::insert(self.connection, table, row, record.id, place, embedding)?;
        }
        if entries.terms.is_some() || entries.embedding.is_some() {
            change_log::note(self.connection, row)?;
        }
        for job in &entries.jobs {
            backlog::enqueue(self.connection, row, *job, self.now)?;
        }
        Ok(())
    }

    fn remove(
        &mut self,
        place: RecordAddress,
        old: Option<StoredRecord>,
        tombstone: &Tombstone,
    ) -> Result<(), SqliteError> {
        if let Some(old) = old {
            self.removed += remove_derived(self.connection, old.row)?;
            self.removed.count(old.record.kind.as_str());
            derivations::forget(self.connection, place.namespace, old.row, &old.record)?;
            row::remove(self.connection, old.row)?;
        }
        self.removed.tombstones += u64::from(store_tombstone(self.connection, place, tombstone)?);
        Ok(())
    }
}

/// Returns true if new and old differ at most in state, kind, trust, confidence, importance, validity and time of
/// occurrence.
fn has_same_content(new: &Record, old: &Record) -> bool {
    let mut expected = old.clone();
    expected.state = new.state;
    expected.kind = new.kind.clone();
    expected.trust = new.trust;
    expected.confidence = new.confidence;
    expected.importance = new.importance;
    expected.valid_from = new.valid_from;
    expected.valid_until = new.valid_until;
    expected.occurred_at = new.occurred_at;
    expected.same_content(new)
}

/// Removes everything that is derived from a record, and its queued jobs. Counts what was removed.
fn remove_derived(connection: &Connection, row: i64) -> Result<RemovalCounts, SqliteError> {
    let mut removed = graph_rows::remove(connection, row)?;
    removed.keywords = u64::from(keyword_store::remove(connection, row)?);
    removed.vectors = u64::from(vector_store::remove(connection, row)?);
    if removed.keywords + removed.vectors > 0 {
        change_log::note(connection, row)?;
    }
    removed.queued = backlog::unqueue(connection, row)?;
    Ok(removed)
}

/// Stores a tombstone, in place of an earlier one of its id, and blocks its content. Returns true if there was none.
fn store_tombstone(connection: &Connection, place: RecordAddress, tombstone: &Tombstone) -> Result<bool, SqliteError> {
    let (id, hash) = (tombstone.id.as_bytes(), tombstone.content_hash.as_bytes());
    // `withdrawn` is 1 for a cascade and 0 for a deletion by the user, which takes precedence: hence `min`.
    connection
        .prepare_cached(
            "INSERT INTO barred_contents (namespace, content_hash, withdrawn) VALUES (?1, ?2, ?3)
             ON CONFLICT DO UPDATE SET withdrawn = min(withdrawn, excluded.withdrawn)",
        )?
        .execute(params![place.namespace, hash, tombstone.withdrawn])?;
    let replaced = connection
        .prepare_cached("DELETE FROM tombstones WHERE namespace = ?1 AND id = ?2")?
        .execute(params![place.namespace, id])?;
    connection
        .prepare_cached(
            "INSERT INTO tombstones (namespace, id, scope, content_hash, deleted_at, withdrawn)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            place.namespace,
            id,
            place.scope,
            hash,
            tombstone.deleted_at.as_micros(),
            tombstone.withdrawn
        ])?;
    Ok(replaced == 0)
}
