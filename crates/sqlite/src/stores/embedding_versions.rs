//! The embedding version contract: each call runs on a thread of the store.

use std::sync::Arc;

use async_trait::async_trait;
use memory_engine_core::{EmbeddingSpace, Result};
use memory_engine_vector_store::{EmbeddingVersionRole, EmbeddingVersionStore, EmbeddingVersions, VectorStore};

use crate::{
    database::index_metadata,
    store::{SqliteStore, writer::Residue},
    vectors::embedding_versions,
};

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
