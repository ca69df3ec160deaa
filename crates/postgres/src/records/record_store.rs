//! Implements the contracts for records, keywords and vectors: each call runs on a connection of the store.

use std::sync::Arc;

use async_trait::async_trait;
use memory_engine_core::{
    Adjacent, DeletionReport, EmbeddingSpace, ErrorKind, FoundRecord, Hit, Index, Job, MultiVector, PackedTerms, Page,
    PeriodCount, Periods, Record, RecordGroup, RecordId, RecordStore, RecordWithTerms, Result, ScanQuery, Scope, Stats,
    Timestamp, Tombstone, Write, WriteResult,
    audit::AuditLog,
    residue::{ResidueProbes, ResidueReport},
};
use memory_engine_keyword_store::{KeywordEntry, KeywordQuery, KeywordStore};
use memory_engine_sql::request;
use memory_engine_vector_store::{
    EmbeddingVersionRole, EmbeddingVersionStore, EmbeddingVersions, VectorEntry, VectorQuery, VectorStore,
};

use crate::{
    database::{
        index_metadata,
        transaction::{ReadServers, with_reader, with_transaction},
    },
    keywords::{keyword_search, keyword_store},
    records::{delete, derivations, groups, periods, put, read, row, scan, scopes::CoveredScope, tombstones},
    residue,
    store::PostgresStore,
    vectors::{embedding_versions, vector_search, vector_store},
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
        Some(self.open_audit_log())
    }

    async fn find_residue(&self, probes: &ResidueProbes) -> Result<ResidueReport> {
        let found = residue::search_server(self.server(), probes).await;
        found.map_err(|failure| failure.into_error("find residue"))
    }

    async fn close(&self) {
        Self::close(self).await;
    }
}

#[async_trait]
impl KeywordStore for PostgresStore {
    async fn upsert(&self, scope: &Scope, entries: &[KeywordEntry]) -> Result<()> {
        request::check_keyword_entries(scope, entries)?;
        with_transaction!(self, "keyword upsert", |connection| {
            let made_by = index_metadata::read(connection, Job::Keywords.as_str()).await?;
            self.metadata().check(Index::Keywords, made_by.as_deref(), "keyword upsert")?;
            keyword_store::upsert(connection, entries).await
        })
    }

    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<u64> {
        let covered = CoveredScope::of(scope);
        with_transaction!(self, "keyword delete", |connection| keyword_store::delete(connection, &covered, ids).await)
    }

    async fn search(&self, scope: &Scope, query: &KeywordQuery) -> Result<Vec<Hit>> {
        request::check_filter(query.filter.as_ref())?;
        with_reader!(self, "keyword search", |connection| {
            keyword_search::search(connection, self.keyword_index(), scope, query).await
        })
    }

    async fn search_records(&self, scope: &Scope, query: &KeywordQuery) -> Result<Option<Vec<FoundRecord>>> {
        request::check_filter(query.filter.as_ref())?;
        with_reader!(self, "keyword search", |connection| {
            keyword_search::search_records(connection, self.keyword_index(), scope, query).await
        })
        .map(Some)
    }

    async fn terms(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<PackedTerms>>> {
        with_reader!(self, "keyword terms", |connection| keyword_store::terms(connection, scope, ids).await)
    }

    async fn records_with_terms(
        &self,
        scope: &Scope,
        ids: &[RecordId],
    ) -> Result<Option<Vec<Option<RecordWithTerms>>>> {
        with_reader!(self, "get", |connection| keyword_store::records_with_terms(connection, scope, ids).await)
            .map(Some)
    }
}

#[async_trait]
impl VectorStore for PostgresStore {
    fn space(&self) -> &EmbeddingSpace {
        self.embedding_space()
    }

    async fn upsert(&self, scope: &Scope, entries: &[VectorEntry]) -> Result<()> {
        request::check_vector_entries(scope, self.embedding_space(), entries)?;
        with_transaction!(self, "vector upsert", |connection| {
            vector_store::upsert(connection, self.metadata(), entries).await
        })?;
        self.maintain(0, entries.len());
        Ok(())
    }

    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<u64> {
        let covered = CoveredScope::of(scope);
        with_transaction!(self, "vector delete", |connection| vector_store::delete(connection, &covered, ids).await)
    }

    async fn search(&self, scope: &Scope, query: &VectorQuery) -> Result<Vec<Hit>> {
        request::check_vector_query(self.embedding_space(), query)?;
        with_reader!(self, "vector search", |connection| {
            vector_search::search(connection, self.metadata(), self.index(), scope, query).await
        })
    }

    async fn search_records(&self, scope: &Scope, query: &VectorQuery) -> Result<Option<Vec<FoundRecord>>> {
        request::check_vector_query(self.embedding_space(), query)?;
        with_reader!(self, "vector search", |connection| {
            vector_search::search_records(connection, self.metadata(), self.index(), scope, query).await
        })
        .map(Some)
    }

    async fn token_vectors(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<MultiVector>>> {
        with_reader!(self, "token vectors", |connection| {
            vector_store::token_vectors(connection, self.metadata(), scope, ids).await
        })
    }

    fn embedding_versions(&self) -> Option<&dyn EmbeddingVersionStore> {
        Some(self)
    }
}

#[async_trait]
impl EmbeddingVersionStore for PostgresStore {
    fn in_space(&self, space: EmbeddingSpace) -> Arc<dyn VectorStore> {
        Arc::new(self.in_space(space))
    }

    async fn role(&self) -> Result<EmbeddingVersionRole> {
        // Read from the primary, since the answer decides which worker processes which jobs.
        let servers = ReadServers::primary_only(self.primary());
        let versions = with_reader!(from servers, "embedding_versions",
            |connection| index_metadata::read_versions(connection).await)?;
        Ok(versions.role(self.metadata(), "embedding_versions")?.0)
    }

    async fn embedding_versions(&self) -> Result<EmbeddingVersions> {
        let servers = ReadServers::primary_only(self.primary());
        with_reader!(from servers, "embedding_versions", |connection| embedding_versions::count(connection).await)
    }

    async fn begin(&self) -> Result<u64> {
        let now = self.clock().now();
        with_transaction!(self, "reindex", |connection| {
            embedding_versions::begin(connection, self.metadata(), self.index()).await
        })?;
        with_transaction!(self, "reindex", |connection| embedding_versions::queue_missing(
            connection,
            self.metadata(),
            now
        )
        .await)
    }

    async fn switch(&self, missing_allowed: u64) -> Result<bool> {
        let now = self.clock().now();
        let can_cut_over = with_transaction!(self, "reindex", |connection| {
            embedding_versions::can_cut_over(connection, self.metadata(), missing_allowed).await
        })?;
        if !can_cut_over {
            return Ok(false);
        }
        with_transaction!(self, "reindex", |connection| {
            embedding_versions::cut_over(connection, self.metadata(), missing_allowed, now).await
        })
    }

    async fn drop_second(&self) -> Result<Option<String>> {
        with_transaction!(self, "reindex", |connection| embedding_versions::drop_second(connection).await)
    }
}
