//! The candidates of a recall: retrieved, fused, reranked, joined by their neighbors.

use memory_engine_core::Result;
use tokio::time::Instant;

use crate::{candidate::Candidate, neighbors, query::Arms, retrieve::fuse, run::RecallRun, trace::Stage};

impl RecallRun<'_> {
    /// Returns everything that was found, best first.
    pub(crate) async fn candidates(&mut self) -> Result<Vec<Candidate>> {
        let retrieved = self.retrieve().await?;
        let mut candidates = fuse(&self.plan, retrieved);
        if self.plan.query.arms != Arms::All || candidates.is_empty() {
            return Ok(candidates);
        }
        self.rerank_best(&mut candidates).await;
        self.add_neighbors(&mut candidates).await;
        Ok(candidates)
    }

    async fn rerank_best(&mut self, candidates: &mut Vec<Candidate>) {
        let Some(reranker) = self.parts.reranker.as_deref().filter(|_| self.plan.options.reranked > 0) else { return };
        let started = Instant::now();
        let outcome = self.trace.limit(Stage::Rerank, self.reranked(reranker, candidates)).await;
        let reranked = self.trace.finish(Stage::Rerank, started, outcome);
        candidates.splice(..reranked.len(), reranked);
    }

    async fn add_neighbors(&mut self, candidates: &mut Vec<Candidate>) {
        let share = self.plan.options.neighbor_share;
        if share <= 0.0 {
            return;
        }
        let started = Instant::now();
        let outcome = self.trace.limit(Stage::Neighbors, self.neighbor_gains(share, candidates)).await;
        let gains = self.trace.finish(Stage::Neighbors, started, outcome);
        neighbors::add_gains(gains, candidates);
    }
}
