//! Facts in turns.

use std::sync::Arc;

use async_trait::async_trait;
use memory_engine_core::{Done, Job, Pending, Record, Result, Trust};
use memory_engine_summarizer::FactExtractor;

use super::MODEL_BATCH_SIZE;
use crate::{fact_book::FactBook, handler::JobHandler};

/// Extracts the facts in turns and reconciles them with the known ones.
#[derive(Debug)]
pub(crate) struct FactJob {
    pub(crate) facts: FactBook,
    pub(crate) extractor: Arc<dyn FactExtractor>,
}

#[async_trait]
impl JobHandler for FactJob {
    fn job(&self) -> Job {
        Job::Facts
    }

    async fn batch_size(&self) -> Result<Option<usize>> {
        Ok(Some(MODEL_BATCH_SIZE))
    }

    async fn run(&self, pending: &[Pending]) -> Result<Vec<Done>> {
        let turns: Vec<Record> = pending.iter().map(|item| item.record.clone()).collect();
        self.facts.extract(self.extractor.as_ref(), &turns, Trust::Derived).await?;
        Ok(Vec::new())
    }
}
