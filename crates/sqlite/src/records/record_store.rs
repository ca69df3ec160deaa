//! The record, keyword and vector store contracts: each call runs on a thread of the store.

use std::sync::Arc;

use async_trait::async_trait;
use memory_engine_core::{
    Adjacent, DeletionReport, EmbeddingSpace, FoundRecord, Hit, Index, MultiVector, PackedTerms, Page, PeriodCount,
    Periods, Record, RecordGroup, RecordId, RecordStore, RecordWithTerms, Result, ScanQuery, Scope, Stats, Timestamp,
    Tombstone, Write, WriteResult,
    audit::AuditLog,
    residue::{ResidueProbes, ResidueReport},
};
use memory_engine_keyword_store::{KeywordEntry, KeywordQuery, KeywordStore};
use memory_engine_sql::request;
use memory_engine_vector_store::{
    EmbeddingVersionRole, EmbeddingVersionStore, EmbeddingVersions, VectorEntry, VectorQuery, VectorStore,
};

use crate::{
    database::{index_metadata, writer::Residue},
    keywords::keyword_store,
    records::{
        delete, derivations,
        found::{self, HitReader},
        groups, periods, put, raw, read, scan,
        scopes::CoveredScope,
        tombstones,
    },
    residue,
    store::SqliteStore,
    vectors::{embedding_versions, vector_store},
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
        let scope = scope.clone();
        let ids = ids.to_vec();
        let deleted_at = self.clock().now();
        let residue = |report: &DeletionReport| if report.ids.is_empty() { Residue::None } else { Residue::Deleted };
        self.write("delete", residue, move |connection| match CoveredScope::of(connection, &scope)? {
            None => Ok(DeletionReport::default()),
            Some(covered) => delete::delete(connection, &covered, &ids, deleted_at),
        })
        .await
    }

    async fn delete_unreachable(&self, scope: &Scope) -> Result<DeletionReport> {
        let scope = scope.clone();
        let deleted_at = self.clock().now();
        let residue = |report: &DeletionReport| if report.ids.is_empty() { Residue::None } else { Residue::Deleted };
        self.write("delete", residue, move |connection| match CoveredScope::of(connection, &scope)? {
            None => Ok(DeletionReport::default()),
            Some(covered) => delete::delete_unreachable(connection, &covered, deleted_at),
        })
        .await
    }

    async fn raw_rows(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<serde_json::Value>> {
        let scope = scope.clone();
        let ids = ids.to_vec();
        self.read("raw rows", move |connection| match CoveredScope::of(connection, &scope)? {
            None => Ok(Vec::new()),
            Some(covered) => raw::rows(connection, &covered, &ids),
        })
        .await
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
        let scope = scope.clone();
        self.read("record groups", move |connection| match CoveredScope::of(connection, &scope)? {
            None => Ok(Vec::new()),
            Some(covered) => groups::read(connection, &covered),
        })
        .await
    }

    async fn period_counts(&self, scope: &Scope, periods: Periods) -> Result<Vec<PeriodCount>> {
        let scope = scope.clone();
        self.read("period counts", move |connection| match CoveredScope::of(connection, &scope)? {
            None => Ok(Vec::new()),
            Some(covered) => periods::count(connection, &covered, periods),
        })
        .await
    }

    async fn stats(&self, scope: &Scope) -> Result<Stats> {
        let scope = scope.clone();
        self.read("stats", move |connection| read::stats(connection, &scope)).await
    }

    async fn tombstones(&self, scope: &Scope, after: Option<RecordId>, limit: usize) -> Result<Vec<Tombstone>> {
        let scope = scope.clone();
        self.read("tombstones", move |connection| match CoveredScope::of(connection, &scope)? {
            None => Ok(Vec::new()),
            Some(covered) => tombstones::tombstones(connection, &covered, after, limit),
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
        let scope = scope.clone();
        let ids = ids.to_vec();
        let residue = |removed: &u64| if *removed > 0 { Residue::Deleted } else { Residue::None };
        self.write("remove tombstones", residue, move |connection| match CoveredScope::of(connection, &scope)? {
            None => Ok(0),
            Some(covered) => tombstones::remove(connection, &covered, &ids),
        })
        .await
    }

    fn audit_log(&self) -> Option<Arc<dyn AuditLog>> {
        Some(self.open_audit_log())
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

impl SqliteStore {
    /// Searches the keywords, and reads what `read` reads of the hits, on one thread in one transaction.
    async fn search_keywords<T: Send + 'static>(
        &self,
        scope: &Scope,
        query: &KeywordQuery,
        read: HitReader<T>,
    ) -> Result<Vec<T>> {
        request::check_filter(query.filter.as_ref())?;
        let scope = scope.clone();
        let query = query.clone();
        let metadata = self.index_metadata();
        let caches = self.caches();
        let search = self.read("keyword search", move |connection| {
            index_metadata::check(connection, &metadata, Index::Keywords, "keyword search")?;
            let found = caches.keywords.search(connection, &caches.addresses, &caches.filters, &scope, &query)?;
            read(connection, &caches.addresses, &scope, &found)
        });
        let hits = search.await;
        self.request_cache_flush();
        hits
    }

    /// As [`search_keywords`](Self::search_keywords), for vectors.
    async fn search_vectors<T: Send + 'static>(
        &self,
        scope: &Scope,
        query: &VectorQuery,
        read: HitReader<T>,
    ) -> Result<Vec<T>> {
        request::check_vector_query(self.embedding_space(), query)?;
        let scope = scope.clone();
        let query = query.clone();
        let metadata = self.index_metadata();
        let caches = self.caches();
        let search = self.read("vector search", move |connection| {
            let table = index_metadata::versions(connection)?.serving_table(&metadata, "vector search")?;
            let found = caches.vectors.search(connection, table, &caches.addresses, &caches.filters, &scope, &query)?;
            read(connection, &caches.addresses, &scope, &found)
        });
        let hits = search.await;
        self.request_cache_flush();
        hits
    }
}

#[async_trait]
impl KeywordStore for SqliteStore {
    async fn upsert(&self, scope: &Scope, entries: &[KeywordEntry]) -> Result<()> {
        request::check_keyword_entries(scope, entries)?;
        let entries = entries.to_vec();
        let metadata = self.index_metadata();
        let residue = |_: &()| Residue::None;
        self.write("keyword upsert", residue, move |connection| {
            index_metadata::check(connection, &metadata, Index::Keywords, "keyword upsert")?;
            keyword_store::upsert(connection, &entries)
        })
        .await
    }

    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<u64> {
        let scope = scope.clone();
        let ids = ids.to_vec();
        let residue = |removed: &u64| if *removed > 0 { Residue::Deleted } else { Residue::None };
        self.write("keyword delete", residue, move |connection| match CoveredScope::of(connection, &scope)? {
            None => Ok(0),
            Some(covered) => keyword_store::delete(connection, &covered, &ids),
        })
        .await
    }

    async fn search(&self, scope: &Scope, query: &KeywordQuery) -> Result<Vec<Hit>> {
        self.search_keywords(scope, query, found::keep_hits).await
    }

    async fn search_records(&self, scope: &Scope, query: &KeywordQuery) -> Result<Option<Vec<FoundRecord>>> {
        self.search_keywords(scope, query, found::read_records).await.map(Some)
    }

    async fn terms(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<PackedTerms>>> {
        let scope = scope.clone();
        let ids = ids.to_vec();
        let addresses = self.caches().addresses;
        self.read("keyword terms", move |connection| keyword_store::terms(connection, &addresses, &scope, &ids)).await
    }

    async fn records_with_terms(
        &self,
        scope: &Scope,
        ids: &[RecordId],
    ) -> Result<Option<Vec<Option<RecordWithTerms>>>> {
        let scope = scope.clone();
        let ids = ids.to_vec();
        let addresses = self.caches().addresses;
        self.read("get", move |connection| found::read_by_ids(connection, &addresses, &scope, &ids)).await.map(Some)
    }

    async fn warm_up(&self) -> Result<()> {
        let metadata = self.index_metadata();
        let caches = self.caches();
        let load = self.read("warm up", move |connection| {
            index_metadata::check(connection, &metadata, Index::Keywords, "warm up")?;
            caches.keywords.load_tenants(connection)
        });
        load.await?;
        self.request_cache_flush();
        Ok(())
    }
}

#[async_trait]
impl VectorStore for SqliteStore {
    fn space(&self) -> &EmbeddingSpace {
        self.embedding_space()
    }

    async fn upsert(&self, scope: &Scope, entries: &[VectorEntry]) -> Result<()> {
        request::check_vector_entries(scope, self.embedding_space(), entries)?;
        let entries = entries.to_vec();
        let metadata = self.index_metadata();
        let residue = |_: &()| Residue::None;
        self.write("vector upsert", residue, move |connection| {
            let (_, table) = index_metadata::versions(connection)?.role(&metadata, "vector upsert")?;
            vector_store::upsert(connection, table, &entries)
        })
        .await
    }

    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<u64> {
        let scope = scope.clone();
        let ids = ids.to_vec();
        let residue = |removed: &u64| if *removed > 0 { Residue::Deleted } else { Residue::None };
        self.write("vector delete", residue, move |connection| match CoveredScope::of(connection, &scope)? {
            None => Ok(0),
            Some(covered) => vector_store::delete(connection, &covered, &ids),
        })
        .await
    }

    async fn search(&self, scope: &Scope, query: &VectorQuery) -> Result<Vec<Hit>> {
        self.search_vectors(scope, query, found::keep_hits).await
    }

    async fn search_records(&self, scope: &Scope, query: &VectorQuery) -> Result<Option<Vec<FoundRecord>>> {
        self.search_vectors(scope, query, found::read_records).await.map(Some)
    }

    async fn token_vectors(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<MultiVector>>> {
        let scope = scope.clone();
        let ids = ids.to_vec();
        let metadata = self.index_metadata();
        let caches = self.caches();
        self.read("token vectors", move |connection| {
            let table = index_metadata::versions(connection)?.serving_table(&metadata, "token vectors")?;
            vector_store::token_vectors(connection, table, &caches.addresses, &scope, &ids)
        })
        .await
    }

    async fn warm_up(&self) -> Result<()> {
        let metadata = self.index_metadata();
        let caches = self.caches();
        let load = self.read("warm up", move |connection| {
            let table = index_metadata::versions(connection)?.serving_table(&metadata, "warm up")?;
            caches.vectors.load(connection, table)
        });
        load.await?;
        self.request_cache_flush();
        Ok(())
    }

    fn embedding_versions(&self) -> Option<&dyn EmbeddingVersionStore> {
        Some(self)
    }
}

#[async_trait]
impl EmbeddingVersionStore for SqliteStore {
    fn in_space(&self, space: EmbeddingSpace) -> Arc<dyn VectorStore> {
        Arc::new(self.with_space(space))
    }

    async fn role(&self) -> Result<EmbeddingVersionRole> {
        let metadata = self.index_metadata();
        self.read("embedding_versions", move |connection| {
            Ok(index_metadata::versions(connection)?.role(&metadata, "embedding_versions")?.0)
        })
        .await
    }

    async fn embedding_versions(&self) -> Result<EmbeddingVersions> {
        self.read("embedding_versions", embedding_versions::count).await
    }

    async fn begin(&self) -> Result<u64> {
        let metadata = self.index_metadata();
        let now = self.clock().now();
        self.write(
            "reindex",
            |_| Residue::None,
            move |connection| embedding_versions::begin(connection, &metadata, now),
        )
        .await
    }

    async fn switch(&self, max_missing: u64) -> Result<bool> {
        let metadata = self.index_metadata();
        let now = self.clock().now();
        self.write(
            "reindex",
            |_| Residue::None,
            move |connection| embedding_versions::switch(connection, &metadata, max_missing, now),
        )
        .await
    }

    async fn drop_second(&self) -> Result<Option<String>> {
        self.write("reindex", |_| Residue::Deleted, embedding_versions::drop_second).await
    }
}
