//! Vectors of records, in the vector store.

use std::sync::Arc;

use async_trait::async_trait;
use memory_engine_core::{Done, Error, ErrorKind, Job, Pending, Record, Result};
use memory_engine_embedder::Purpose;
use memory_engine_indexing::IndexedStore;

use super::COMPUTE_BATCH_SIZE;
use crate::handler::JobHandler;

/// Embeds records for the vectors that serve searches, or for those of the next cut-over.
#[derive(Debug)]
pub(crate) struct EmbeddingJob {
    pub(crate) store: Arc<IndexedStore>,
    /// [`Job::Embedding`] or [`Job::Reembedding`].
    pub(crate) job: Job,
}

#[async_trait]
impl JobHandler for EmbeddingJob {
    fn job(&self) -> Job {
        self.job
    }

    async fn batch_size(&self) -> Result<Option<usize>> {
        let backend = self.store.embedding().for_job(self.job).await?;
        Ok(backend.map(|backend| COMPUTE_BATCH_SIZE.min(backend.embedder.max_batch().max(1))))
    }

    fn accepts(&self, _: &Record) -> bool {
        true
    }

    async fn test_service(&self) -> Option<bool> {
        let backend = self.store.embedding().for_job(self.job).await.ok()??;
        // A new text each time: the embedder may have a cache.
        let text = format!("test {}", self.store.clock().now().as_micros());
        let embedded = backend.embed(vec![text], Purpose::Document).await;
        Some(embedded.is_ok_and(|embeddings| embeddings.len() == 1))
    }

    async fn run(&self, pending: &[Pending]) -> Result<Vec<Done>> {
        // Read again after the claim: the store may have cut over since `batch_size`.
        let backend = self.store.embedding().for_job(self.job).await?.ok_or_else(|| {
            let message = "the store has just cut over to another embedder; the job is retried";
            Error::new(ErrorKind::Unavailable, "embed", message)
        })?;
        self.store.index_vectors(backend, pending).await?;
        Ok(Vec::new())
    }
}
