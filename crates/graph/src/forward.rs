//! Implements each trait `T` for `Arc<T>` and `Box<T>` too.

use async_trait::async_trait;
use memory_engine_core::{Record, RecordId, RemovalCounts, Result, Scope};

use crate::{
    extraction::Extraction,
    extractor::GraphExtractor,
    query::GraphQuery,
    store::{GraphEntry, GraphStats, GraphStore},
    subgraph::Subgraph,
};

memory_engine_core::forward! {
    #[async_trait]
    impl GraphStore {
        async fn upsert(&self, scope: &Scope, entries: &[GraphEntry]) -> Result<()>;
        async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<RemovalCounts>;
        async fn expand(&self, scope: &Scope, query: &GraphQuery) -> Result<Subgraph>;
        async fn stats(&self, scope: &Scope) -> Result<GraphStats>;
        async fn clear(&self, scope: &Scope) -> Result<()>;
    }
}

memory_engine_core::forward! {
    #[async_trait]
    impl GraphExtractor {
        async fn extract(&self, record: &Record) -> Result<Extraction>;
        async fn test_service(&self) -> Option<bool>;
    }
}
