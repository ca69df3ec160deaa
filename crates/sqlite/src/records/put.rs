//! Writing records.

use std::collections::BTreeSet;

use memory_engine_core::{Record, RecordId, Scope, Timestamp, Write, WriteResult};
use memory_engine_sql::{
    embedding_versions::VectorTable,
    write::{RecordChange, StoredState, decide},
};
use rusqlite::{Connection, OptionalExtension, params};
use rustc_hash::FxHashMap;

use crate::{
    cache::change_log,
    database::error::SqliteError,
    records::{
        cascade,
        change::Changes,
        row,
        scopes::{self, RecordAddress},
    },
};

/// Writes records with everything that is derived from them. Also returns true if text of a record was overwritten.
/// After an error the caller rolls the transaction back. Vectors that come with records go to `table`; without one,
/// they are made in the background.
pub(crate) fn put(
    connection: &Connection,
    writes: Vec<Write>,
    table: Option<VectorTable>,
    now: Timestamp,
) -> Result<(Vec<WriteResult>, bool), SqliteError> {
    let mut places: FxHashMap<Scope, RecordAddress> = FxHashMap::default();
    let batch: BTreeSet<RecordId> = writes.iter().map(|write| write.record.id).collect();
    let mut rewritten = Vec::new();
    let mut written = Vec::with_capacity(writes.len());
    let mut applied = Changes::new(connection, table, now);
    for write in writes {
        let place = match places.get(&write.record.scope) {
            Some(place) => *place,
            None => {
                let place = scopes::settle(connection, &write.record.scope)?;
                places.insert(write.record.scope.clone(), place);
                place
            }
        };
        let old = row::named(connection, place.namespace, write.record.id)?;
        let state = Namespace { connection, namespace: place.namespace };
        let (one, change) = decide(write, old.as_ref().map(|old| &old.record), &state, table.is_some())?;
        if let Some(change) = change {
            if change.cascades {
                rewritten.push((written.len(), place.namespace));
            }
            applied.apply(place, old, &RecordChange::Write(Box::new(change)))?;
        }
        written.push(one);
    }
    for (i, namespace) in rewritten {
        let source = BTreeSet::from([written[i].id]);
        written[i].withdrawn =
            cascade::remove_derived_records(connection, namespace, &source, &batch, now, &mut applied)?;
    }
    change_log::trim(connection)?;
    Ok((written, applied.overwrote))
}

/// The stored data of one user.
struct Namespace<'c> {
    connection: &'c Connection,
    namespace: i64,
}

impl StoredState for Namespace<'_> {
    type Error = SqliteError;

    fn source_revision(&self, id: RecordId) -> Result<Option<u64>, SqliteError> {
        let source = row::current(self.connection, self.namespace, id)?;
        Ok(source.filter(|source| source.indexed).map(|source| source.revision))
    }

    fn has_tombstone(&self, id: RecordId) -> Result<bool, SqliteError> {
        let sql = "SELECT 1 FROM tombstones WHERE namespace = ?1 AND id = ?2";
        Ok(self.connection.prepare_cached(sql)?.exists(params![self.namespace, id.as_bytes()])?)
    }

    fn deleted_content(&self, record: &Record) -> Result<Option<bool>, SqliteError> {
        // Most users have deleted nothing, and this query is faster than hashing the text.
        let any = "SELECT 1 FROM barred_contents WHERE namespace = ?1 LIMIT 1";
        if !self.connection.prepare_cached(any)?.exists([self.namespace])? {
            return Ok(None);
        }
        let sql = "SELECT withdrawn FROM barred_contents WHERE namespace = ?1 AND content_hash = ?2";
        let hash = record.content_hash();
        let key = params![self.namespace, hash.as_bytes()];
        Ok(self.connection.prepare_cached(sql)?.query_row(key, |row| row.get("withdrawn")).optional()?)
    }
}
