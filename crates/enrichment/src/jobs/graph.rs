//! Entities and relations of turns.

use async_trait::async_trait;
use memory_engine_core::{Done, Job, Pending, Result};

use crate::{graph_indexer::GraphIndexer, handler::JobHandler};

/// Extracts the entities and relations of turns.
#[derive(Debug)]
pub(crate) struct GraphJob {
    pub(crate) indexer: GraphIndexer,
}

#[async_trait]
impl JobHandler for GraphJob {
    fn job(&self) -> Job {
        Job::Graph
    }

    async fn batch_size(&self) -> Result<Option<usize>> {
        Ok(Some(1)) // An extractor reads one record at a time.
    }

    async fn test_service(&self) -> Option<bool> {
        self.indexer.extractor()?.test_service().await
    }

    async fn run(&self, pending: &[Pending]) -> Result<Vec<Done>> {
        for Pending { record, .. } in pending {
            let extracted = self.indexer.index(&record.scope, std::slice::from_ref(record)).await?;
            if let Some((_, error)) = extracted.failed.into_iter().next() {
                return Err(error);
            }
        }
        Ok(Vec::new())
    }
}
