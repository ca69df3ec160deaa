//! The record store contract: each call runs on a connection of the store.

use std::sync::Arc;

use async_trait::async_trait;
use memory_engine_core::{
    Adjacent, DeletionReport, ErrorKind, Page, PeriodCount, Periods, Record, RecordGroup, RecordId, RecordStore,
    Result, ScanQuery, Scope, Stats, Timestamp, Tombstone, Write, WriteResult,
    audit::AuditLog,
    residue::{ResidueProbes, ResidueReport},
};
use memory_engine_sql::request;

use crate::{
    database::transaction::{with_reader, with_transaction},
    records::{delete, derivations, groups, periods, put, read, scan},
    residue,
    rows::{row, scopes::CoveredScope, tombstones},
    store::PostgresStore,
    stores::audit_log::PostgresAuditLog,
};

#[async_trait]
impl RecordStore for PostgresStore {
    async fn put(&self, scope: &Scope, writes: Vec<Write>) -> Result<Vec<WriteResult>> {
        request::check_writes(scope, self.embedding_space(), &writes)?;
        if writes.is_empty() {
            return Ok(Vec::new());
        }
        let now = self.clock().now();
        let put = async || {
            with_transaction!(self, "put", |connection| put::put(connection, self.metadata(), &writes, now).await)
        };
        let results = match self.put_new(&writes, now).await {
            Ok(Some(results)) => results,
            Ok(None) => put().await?,
            // The transaction reports an error that remains, in the same way for every write.
            Err(failure) if failure.is_retried_in_transaction() => {
                let retried = put().await;
                // The records may be those of the lost statement.
                let is_ambiguous = failure.is_connection_loss()
                    && retried.as_ref().is_err_and(|error| error.kind() == ErrorKind::Conflict);
                if is_ambiguous {
                    return Err(failure.into_error("put"));
                }
                retried?
            }
            Err(failure) => return Err(failure.into_error("put")),
        };
        self.maintain(writes.len(), writes.iter().filter(|write| write.embedding.is_some()).count());
        Ok(results)
    }

    async fn get(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<Record>>> {
        with_reader!(self, "get", |connection| read::get(connection, scope, ids).await)
    }

    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<DeletionReport> {
        let covered = CoveredScope::of(scope);
        let deleted_at = self.clock().now();
        with_transaction!(self, "delete", |connection| delete::delete(connection, &covered, ids, deleted_at).await)
    }

    async fn delete_unreachable(&self, scope: &Scope) -> Result<DeletionReport> {
        let covered = CoveredScope::of(scope);
        let deleted_at = self.clock().now();
        with_transaction!(self, "delete", |connection| {
            delete::delete_unreachable(connection, &covered, deleted_at).await
        })
    }

    async fn raw_rows(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<serde_json::Value>> {
        with_reader!(self, "raw rows", |connection| row::raw(connection, &CoveredScope::of(scope), ids).await)
    }

    async fn scan(&self, scope: &Scope, query: &ScanQuery) -> Result<Page> {
        request::check_filter(query.filter.as_ref())?;
        with_reader!(self, "scan", |connection| scan::scan(connection, scope, query).await)
    }

    async fn derived(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<RecordId>> {
        with_reader!(self, "derived", |connection| derivations::derived_ids(connection, scope, ids).await)
    }

    async fn adjacent(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Adjacent>> {
        with_reader!(self, "adjacent", |connection| read::adjacent(connection, scope, ids).await)
    }

    async fn record_groups(&self, scope: &Scope) -> Result<Vec<RecordGroup>> {
        let covered = CoveredScope::of(scope);
        with_reader!(self, "record groups", |connection| groups::read(connection, &covered).await)
    }

    async fn period_counts(&self, scope: &Scope, periods: Periods) -> Result<Vec<PeriodCount>> {
        let covered = CoveredScope::of(scope);
        with_reader!(self, "period counts", |connection| periods::count(connection, &covered, periods).await)
    }

    async fn stats(&self, scope: &Scope) -> Result<Stats> {
        with_reader!(self, "stats", |connection| read::stats(connection, scope).await)
    }

    async fn tombstones(&self, scope: &Scope, after: Option<RecordId>, limit: usize) -> Result<Vec<Tombstone>> {
        let covered = CoveredScope::of(scope);
        with_reader!(self, "tombstones", |connection| tombstones::tombstones(connection, &covered, after, limit).await)
    }

    async fn import_tombstones(&self, scope: &Scope, tombstones: &[Tombstone]) -> Result<u64> {
        tombstones.iter().try_for_each(|tombstone| scope.authorize("import_tombstones", &tombstone.scope))?;
        let now = self.clock().now();
        with_transaction!(self, "import_tombstones", |connection| delete::import_tombstones(
            connection, tombstones, now
        )
        .await)
    }

    async fn expired(&self, now: Timestamp, limit: usize) -> Result<Vec<(Scope, RecordId)>> {
        with_reader!(self, "expired", |connection| read::expired(connection, now, limit).await)
    }

    async fn remove_tombstones(&self, scope: &Scope, ids: &[RecordId]) -> Result<u64> {
        let covered = CoveredScope::of(scope);
        with_transaction!(self, "remove tombstones", |connection| tombstones::remove(connection, &covered, ids).await)
    }

    fn audit_log(&self) -> Option<Arc<dyn AuditLog>> {
        Some(Arc::new(PostgresAuditLog::new(self)))
    }

    async fn find_residue(&self, probes: &ResidueProbes) -> Result<ResidueReport> {
        let found = residue::search_server(self.server(), probes).await;
        found.map_err(|failure| failure.into_error("find residue"))
    }

    async fn close(&self) {
        Self::close(self).await;
    }
}
