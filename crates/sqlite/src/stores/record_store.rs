//! The record store contract: each call runs on a thread of the store.

use std::sync::Arc;

use async_trait::async_trait;
use memory_engine_core::{
    Adjacent, DeletionReport, Index, Page, PeriodCount, Periods, Record, RecordGroup, RecordId, RecordStore, Result,
    ScanQuery, Scope, Stats, Timestamp, Tombstone, Write, WriteResult,
    audit::AuditLog,
    residue::{ResidueProbes, ResidueReport},
};
use memory_engine_sql::request;

use crate::{
    database::index_metadata,
    records::{delete, derivations, groups, periods, put, read, scan},
    residue,
    rows::{raw, tombstones},
    store::{SqliteStore, writer::Residue},
    stores::audit_log::SqliteAuditLog,
    stores::removal_residue,
};

#[async_trait]
impl RecordStore for SqliteStore {
    async fn put(&self, scope: &Scope, writes: Vec<Write>) -> Result<Vec<WriteResult>> {
        request::check_writes(scope, self.embedding_space(), &writes)?;
        let metadata = self.index_metadata();
        let now = self.clock().now();
        let residue = |(_, replaced): &(_, bool)| if *replaced { Residue::Replaced } else { Residue::None };
        let put = self.write("put", residue, move |connection| {
            if writes.iter().any(|write| write.terms.is_some()) {
                index_metadata::check(connection, &metadata, Index::Keywords, "put")?;
            }
            let has_vectors = writes.iter().any(|write| write.embedding.is_some());
            let table =
                if has_vectors { index_metadata::versions(connection)?.table_for_new_records(&metadata) } else { None };
            put::put(connection, writes, table, now)
        });
        put.await.map(|(results, _)| results)
    }

    async fn get(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<Record>>> {
        let scope = scope.clone();
        let ids = ids.to_vec();
        let addresses = self.caches().addresses;
        self.read("get", move |connection| read::get(connection, &addresses, &scope, &ids)).await
    }

    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<DeletionReport> {
        let ids = ids.to_vec();
        let deleted_at = self.clock().now();
        let residue = |report: &DeletionReport| if report.ids.is_empty() { Residue::None } else { Residue::Deleted };
        self.write_covered("delete", residue, scope, move |connection, covered| {
            delete::delete(connection, covered, &ids, deleted_at)
        })
        .await
    }

    async fn delete_unreachable(&self, scope: &Scope) -> Result<DeletionReport> {
        let deleted_at = self.clock().now();
        let residue = |report: &DeletionReport| if report.ids.is_empty() { Residue::None } else { Residue::Deleted };
        self.write_covered("delete", residue, scope, move |connection, covered| {
            delete::delete_unreachable(connection, covered, deleted_at)
        })
        .await
    }

    async fn raw_rows(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<serde_json::Value>> {
        let ids = ids.to_vec();
        self.read_covered("raw rows", scope, move |connection, covered| raw::rows(connection, covered, &ids)).await
    }

    async fn scan(&self, scope: &Scope, query: &ScanQuery) -> Result<Page> {
        request::check_filter(query.filter.as_ref())?;
        let scope = scope.clone();
        let query = query.clone();
        self.read("scan", move |connection| scan::scan(connection, &scope, &query)).await
    }

    async fn derived(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<RecordId>> {
        let scope = scope.clone();
        let ids = ids.to_vec();
        self.read("derived", move |connection| derivations::derived(connection, &scope, &ids)).await
    }

    async fn adjacent(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Adjacent>> {
        let scope = scope.clone();
        let ids = ids.to_vec();
        let addresses = self.caches().addresses;
        self.read("adjacent", move |connection| read::adjacent(connection, &addresses, &scope, &ids)).await
    }

    async fn record_groups(&self, scope: &Scope) -> Result<Vec<RecordGroup>> {
        self.read_covered("record groups", scope, groups::read).await
    }

    async fn period_counts(&self, scope: &Scope, periods: Periods) -> Result<Vec<PeriodCount>> {
        self.read_covered("period counts", scope, move |connection, covered| {
            periods::count(connection, covered, periods)
        })
        .await
    }

    async fn stats(&self, scope: &Scope) -> Result<Stats> {
        let scope = scope.clone();
        self.read("stats", move |connection| read::stats(connection, &scope)).await
    }

    async fn tombstones(&self, scope: &Scope, after: Option<RecordId>, limit: usize) -> Result<Vec<Tombstone>> {
        self.read_covered("tombstones", scope, move |connection, covered| {
            tombstones::tombstones(connection, covered, after, limit)
        })
        .await
    }

    async fn import_tombstones(&self, scope: &Scope, tombstones: &[Tombstone]) -> Result<u64> {
        tombstones.iter().try_for_each(|tombstone| scope.authorize("import_tombstones", &tombstone.scope))?;
        let tombstones = tombstones.to_vec();
        let residue = |_: &u64| Residue::Deleted;
        let now = self.clock().now();
        self.write("import_tombstones", residue, move |connection| {
            delete::import_tombstones(connection, &tombstones, now)
        })
        .await
    }

    async fn expired(&self, now: Timestamp, limit: usize) -> Result<Vec<(Scope, RecordId)>> {
        self.read("expired", move |connection| read::expired(connection, now, limit)).await
    }

    async fn remove_tombstones(&self, scope: &Scope, ids: &[RecordId]) -> Result<u64> {
        let ids = ids.to_vec();
        self.write_covered("remove tombstones", removal_residue, scope, move |connection, covered| {
            tombstones::remove(connection, covered, &ids)
        })
        .await
    }

    fn audit_log(&self) -> Option<Arc<dyn AuditLog>> {
        Some(Arc::new(SqliteAuditLog::new(self)))
    }

    async fn find_residue(&self, probes: &ResidueProbes) -> Result<ResidueReport> {
        // An empty write that clears the log.
        self.write("find residue", |_: &()| Residue::Deleted, |_| Ok(())).await?;
        let path = self.path().to_owned();
        let probes = probes.clone();
        self.read("find residue", move |connection| residue::search(connection, &path, &probes)).await
    }

    async fn close(&self) {
        Self::close(self).await;
    }
}
