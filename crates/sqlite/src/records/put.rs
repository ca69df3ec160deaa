//! Writes records.

use std::collections::BTreeSet;

use memory_engine_core::{Record, RecordId, Scope, Timestamp, Write, WriteResult};
use memory_engine_sql::{
    embedding_versions::VectorTable,
    write::{NamespaceState, decide},
};
use rusqlite::{Connection, OptionalExtension, params};
use rustc_hash::FxHashMap;

use crate::{
    database::{change_log, error::SqliteError},
    records::{cascade, change::Changes, groups},
    rows::{
        row,
        scopes::{self, RecordAddress},
    },
};

/// Writes records with their index entries. The vectors of the writes are stored in `table`; with `None` they are
/// dropped, and background jobs compute them. Also returns true if content of a record was replaced.
///
/// # Errors
/// After an error the caller must roll the transaction back.
pub(crate) fn put(
    connection: &Connection,
    writes: Vec<Write>,
    table: Option<VectorTable>,
    now: Timestamp,
) -> Result<(Vec<WriteResult>, bool), SqliteError> {
    let mut addresses: FxHashMap<Scope, RecordAddress> = FxHashMap::default();
    let batch: BTreeSet<RecordId> = writes.iter().map(|write| write.record.id).collect();
    // The indexes of the results whose text has changed, and their namespaces.
    let mut cascading = Vec::new();
    let mut results = Vec::with_capacity(writes.len());
    let mut changes = Changes::new(connection, table, now);
    for write in writes {
        let address = match addresses.get(&write.record.scope) {
            Some(address) => *address,
            None => {
                let address = scopes::get_or_create(connection, &write.record.scope)?;
                addresses.insert(write.record.scope.clone(), address);
                address
            }
        };
        let old = row::find(connection, address.namespace, write.record.id)?;
        let state = Namespace { connection, namespace: address.namespace };
        let (result, change) = decide(write, old.as_ref().map(|old| &old.record), &state, table.is_some(), now)?;
        if let Some(change) = change {
            if change.cascades {
                cascading.push((results.len(), address.namespace));
            }
            changes.write(address, old, &change)?;
        }
        results.push(result);
    }
    for (index, namespace) in cascading {
        let source = BTreeSet::from([results[index].id]);
        results[index].cascade_deleted =
            cascade::remove_derived_records(connection, namespace, &source, &batch, now, &mut changes)?;
    }
    groups::refresh_times(connection)?;
    change_log::trim(connection)?;
    Ok((results, changes.replaced_content))
}

/// The records and tombstones of one user, read for the decision on a write.
struct Namespace<'c> {
    connection: &'c Connection,
    namespace: i64,
}

impl NamespaceState for Namespace<'_> {
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
        let any_sql = "SELECT 1 FROM blocked_contents WHERE namespace = ?1 LIMIT 1";
        if !self.connection.prepare_cached(any_sql)?.exists([self.namespace])? {
            return Ok(None);
        }
        let sql = "SELECT cascade_deleted FROM blocked_contents WHERE namespace = ?1 AND content_hash = ?2";
        let hash = record.content_hash();
        let key = params![self.namespace, hash.as_bytes()];
        Ok(self.connection.prepare_cached(sql)?.query_row(key, |row| row.get("cascade_deleted")).optional()?)
    }
}
