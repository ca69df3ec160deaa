//! The contracts, each call handed to a connection.

use std::sync::Arc;

use async_trait::async_trait;
use memory_engine_core::{
    Adjacent, DeletionReport, EmbeddingSpace, Hit, Index, Job, Page, Record, RecordId, RecordStore, Result, ScanQuery,
    Scope, Stats, Tombstone, Write, WriteResult,
};
use memory_engine_keyword_store::{KeywordEntry, KeywordQuery, KeywordStore, PackedTerms};
use memory_engine_sql::request;
use memory_engine_vector_store::{GenerationRole, GenerationStore, Generations, VectorEntry, VectorQuery, VectorStore};

use crate::{
    database::{
        index_metadata,
        transaction::{Readers, reading, writing},
    },
    keywords::{keyword_search, keyword_store},
    records::{delete, derivations, put, read, scan, scopes::CoveredScope, tombstones},
    store::PostgresStore,
    vectors::{generations, vector_search, vector_store},
};

#[async_trait]
impl RecordStore for PostgresStore {
    async fn put(&self, scope: &Scope, writes: Vec<Write>) -> Result<Vec<WriteResult>> {
        request::check_writes(scope, self.embedding_space(), &writes)?;
        if writes.is_empty() {
            return Ok(Vec::new());
        }
        let now = self.clock().now();
        let written = writing!(self, "put", |connection| put::put(connection, self.origin(), &writes, now).await)?;
        self.see_to_index(writes.iter().filter(|write| write.embedding.is_some()).count()).await;
        Ok(written)
    }

    async fn get(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<Record>>> {
        reading!(self, "get", |connection| read::get(connection, scope, ids).await)
    }

    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<DeletionReport> {
        let (reach, deleted_at) = (CoveredScope::of(scope), self.clock().now());
        writing!(self, "delete", |connection| delete::delete(connection, &reach, ids, deleted_at).await)
    }

    async fn scan(&self, scope: &Scope, query: &ScanQuery) -> Result<Page> {
        request::check_filter(query.filter.as_ref())?;
        reading!(self, "scan", |connection| scan::scan(connection, scope, query).await)
    }

    async fn derived(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<RecordId>> {
        reading!(self, "derived", |connection| derivations::derived(connection, scope, ids).await)
    }

    async fn adjacent(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Adjacent>> {
        reading!(self, "adjacent", |connection| read::adjacent(connection, scope, ids).await)
    }

    async fn stats(&self, scope: &Scope) -> Result<Stats> {
        reading!(self, "stats", |connection| read::stats(connection, scope).await)
    }

    async fn tombstones(&self, scope: &Scope, after: Option<RecordId>, limit: usize) -> Result<Vec<Tombstone>> {
        let reach = CoveredScope::of(scope);
        reading!(self, "tombstones", |connection| tombstones::tombstones(connection, &reach, after, limit).await)
    }

    async fn import_tombstones(&self, scope: &Scope, tombstones: &[Tombstone]) -> Result<u64> {
        tombstones.iter().try_for_each(|tombstone| scope.authorize("import_tombstones", &tombstone.scope))?;
        let now = self.clock().now();
        writing!(self, "import_tombstones", |connection| delete::import_tombstones(connection, tombstones, now).await)
    }

    async fn close(&self) {
        Self::close(self).await;
    }
}

#[async_trait]
impl KeywordStore for PostgresStore {
    async fn upsert(&self, scope: &Scope, entries: &[KeywordEntry]) -> Result<()> {
        request::check_keyword_entries(scope, entries)?;
        writing!(self, "keyword upsert", |connection| {
            let made_by = index_metadata::maker(connection, Job::Keywords.as_str()).await?;
            self.origin().check(Index::Keywords, made_by.as_deref(), "keyword upsert")?;
            keyword_store::upsert(connection, entries).await
        })
    }

    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<u64> {
        let reach = CoveredScope::of(scope);
        writing!(self, "keyword delete", |connection| keyword_store::delete(connection, &reach, ids).await)
    }

    async fn search(&self, scope: &Scope, query: &KeywordQuery) -> Result<Vec<Hit>> {
        request::check_filter(query.filter.as_ref())?;
        reading!(self, "keyword search", |connection| {
            keyword_search::search(connection, self.origin(), self.index().tenants(), scope, query).await
        })
    }

    async fn terms(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<PackedTerms>>> {
        reading!(self, "keyword terms", |connection| keyword_store::terms(connection, scope, ids).await)
    }
}

#[async_trait]
impl VectorStore for PostgresStore {
    fn space(&self) -> &EmbeddingSpace {
        self.embedding_space()
    }

    async fn upsert(&self, scope: &Scope, entries: &[VectorEntry]) -> Result<()> {
        request::check_vector_entries(scope, self.embedding_space(), entries)?;
        writing!(self, "vector upsert", |connection| {
            vector_store::upsert(connection, self.origin(), entries).await
        })?;
        self.see_to_index(entries.len()).await;
        Ok(())
    }

    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<u64> {
        let reach = CoveredScope::of(scope);
        writing!(self, "vector delete", |connection| vector_store::delete(connection, &reach, ids).await)
    }

    async fn search(&self, scope: &Scope, query: &VectorQuery) -> Result<Vec<Hit>> {
        request::check_vector_query(self.embedding_space(), query)?;
        reading!(self, "vector search", |connection| {
            vector_search::search(connection, self.origin(), self.index(), scope, query).await
        })
    }

    fn generations(&self) -> Option<&dyn GenerationStore> {
        Some(self)
    }
}

#[async_trait]
impl GenerationStore for PostgresStore {
    fn beside(&self, space: EmbeddingSpace) -> Arc<dyn VectorStore> {
        Arc::new(self.in_space(space))
    }

    async fn role(&self) -> Result<GenerationRole> {
        // Not from a replica: who works on what is decided by it.
        let readers = Readers::primary(self.primary());
        let versions = reading!(from readers, "generations", |connection| index_metadata::versions(connection).await)?;
        Ok(versions.role(self.origin(), "generations")?.0)
    }

    async fn generations(&self) -> Result<Generations> {
        let readers = Readers::primary(self.primary());
        reading!(from readers, "generations", |connection| generations::count(connection).await)
    }

    async fn begin(&self) -> Result<u64> {
        let now = self.clock().now();
        writing!(self, "reindex", |connection| { generations::begin(connection, self.origin(), self.index()).await })?;
        writing!(self, "reindex", |connection| generations::queue_missing(connection, self.origin(), now).await)
    }

    async fn switch(&self, lacking: u64) -> Result<bool> {
        let now = self.clock().now();
        let may = writing!(self, "reindex", |connection| {
            generations::can_switch(connection, self.origin(), lacking).await
        })?;
        if !may {
            return Ok(false);
        }
        writing!(self, "reindex", |connection| generations::switch(connection, self.origin(), lacking, now).await)
    }

    async fn drop_second(&self) -> Result<Option<String>> {
        writing!(self, "reindex", |connection| generations::drop_second(connection).await)
    }
}
