//! Implements each trait `T` for `Arc<T>` and `Box<T>` too.

use std::sync::Arc;

use async_trait::async_trait;
use memory_engine_core::{Record, RecordId, RemovalCounts, Result, Scope};

use crate::{
    extraction::Extraction,
    extractor::GraphExtractor,
    query::GraphQuery,
    store::{GraphEntry, GraphStats, GraphStore},
    subgraph::Subgraph,
};

macro_rules! forward {
    ($($pointer:ident),*) => {$(
        #[async_trait]
        #[deny(clippy::missing_trait_methods)]
        impl<T: GraphStore + ?Sized> GraphStore for $pointer<T> {
            async fn upsert(&self, scope: &Scope, entries: &[GraphEntry]) -> Result<()> {
                (**self).upsert(scope, entries).await
            }
            async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<RemovalCounts> {
                (**self).delete(scope, ids).await
            }
            async fn expand(&self, scope: &Scope, query: &GraphQuery) -> Result<Subgraph> {
                (**self).expand(scope, query).await
            }
            async fn stats(&self, scope: &Scope) -> Result<GraphStats> {
                (**self).stats(scope).await
            }
            async fn clear(&self, scope: &Scope) -> Result<()> {
                (**self).clear(scope).await
            }
        }

        #[async_trait]
        #[deny(clippy::missing_trait_methods)]
        impl<T: GraphExtractor + ?Sized> GraphExtractor for $pointer<T> {
            async fn extract(&self, record: &Record) -> Result<Extraction> {
                (**self).extract(record).await
            }
            async fn test_service(&self) -> Option<bool> {
                (**self).test_service().await
            }
        }
    )*};
}

forward!(Arc, Box);
