//! The vector store contract: each call runs on a connection of the store.

use async_trait::async_trait;
use memory_engine_core::{EmbeddingSpace, FoundRecord, Hit, MultiVector, RecordId, Result, Scope};
use memory_engine_sql::request;
use memory_engine_vector_store::{EmbeddingVersionStore, VectorEntry, VectorQuery, VectorStore};

use crate::{
    database::transaction::{with_reader, with_transaction},
    rows::scopes::CoveredScope,
    store::PostgresStore,
    vectors::{vector_rows, vector_search},
};

#[async_trait]
impl VectorStore for PostgresStore {
    fn space(&self) -> &EmbeddingSpace {
        self.embedding_space()
    }

    async fn upsert(&self, scope: &Scope, entries: &[VectorEntry]) -> Result<()> {
        request::check_vector_entries(scope, self.embedding_space(), entries)?;
        with_transaction!(self, "vector upsert", |connection| {
            vector_rows::upsert(connection, self.metadata(), entries).await
        })?;
        self.maintain(0, entries.len());
        Ok(())
    }

    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<u64> {
        let covered = CoveredScope::of(scope);
        with_transaction!(self, "vector delete", |connection| vector_rows::delete(connection, &covered, ids).await)
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
            vector_rows::token_vectors(connection, self.metadata(), scope, ids).await
        })
    }

    fn embedding_versions(&self) -> Option<&dyn EmbeddingVersionStore> {
        Some(self)
    }
}
