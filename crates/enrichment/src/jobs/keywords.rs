//! Terms of records, in the keyword store.

use std::sync::Arc;

use async_trait::async_trait;
use memory_engine_core::{Done, Job, Pending, Record, Result};
use memory_engine_indexing::IndexedStore;

use super::COMPUTE_BATCH_SIZE;
use crate::handler::JobHandler;

/// Writes the terms of records that were not written with them.
#[derive(Debug)]
pub(crate) struct KeywordJob {
    pub(crate) store: Arc<IndexedStore>,
}

#[async_trait]
impl JobHandler for KeywordJob {
    fn job(&self) -> Job {
        Job::Keywords
    }

    async fn batch_size(&self) -> Result<Option<usize>> {
        Ok(Some(COMPUTE_BATCH_SIZE))
    }

    fn accepts(&self, _: &Record) -> bool {
        true
    }

    async fn run(&self, pending: &[Pending]) -> Result<Vec<Done>> {
        self.store.index_terms(pending).await?;
        Ok(Vec::new())
    }
}
