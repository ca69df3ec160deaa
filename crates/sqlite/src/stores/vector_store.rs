//! The vector store contract: each call runs on a thread of the store.

use async_trait::async_trait;
use memory_engine_core::{EmbeddingSpace, FoundRecord, Hit, MultiVector, RecordId, Result, Scope};
use memory_engine_sql::request;
use memory_engine_vector_store::{EmbeddingVersionStore, VectorEntry, VectorQuery, VectorStore};

use crate::{
    database::index_metadata,
    records::found::{self, HitReader},
    store::{SqliteStore, writer::Residue},
    stores::removal_residue,
    vectors::vector_rows,
};

impl SqliteStore {
    /// Searches the vectors, and reads what `read` reads of the hits, on one thread in one transaction.
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
            vector_rows::upsert(connection, table, &entries)
        })
        .await
    }

    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<u64> {
        let ids = ids.to_vec();
        self.write_covered("vector delete", removal_residue, scope, move |connection, covered| {
            vector_rows::delete(connection, covered, &ids)
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
            vector_rows::token_vectors(connection, table, &caches.addresses, &scope, &ids)
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
