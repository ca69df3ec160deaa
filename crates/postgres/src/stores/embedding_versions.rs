//! The embedding version contract: each call runs on a connection of the store.

use std::sync::Arc;

use async_trait::async_trait;
use memory_engine_core::{EmbeddingSpace, Result};
use memory_engine_vector_store::{EmbeddingVersionRole, EmbeddingVersionStore, EmbeddingVersions, VectorStore};

use crate::{
    database::{
        index_metadata,
        transaction::{ReadServers, with_reader, with_transaction},
    },
    store::PostgresStore,
    vectors::embedding_versions,
};

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
