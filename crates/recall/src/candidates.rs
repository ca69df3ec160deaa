//! Builds the list of candidates of a recall: retrieve, fuse, rerank, add neighbors.

use memory_engine_core::Result;
use tokio::time::Instant;

use crate::{candidate::Candidate, neighbors, query::Retrievers, retrieve::fuse, run::RecallRun, trace::Stage};

impl RecallRun<'_> {
    /// Returns the candidates of all retrievers, best first.
    pub(crate) async fn candidates(&mut self) -> Result<Vec<Candidate>> {
        let retrieved = self.retrieve().await?;
        let mut candidates = fuse(&self.plan, retrieved);
        // A query to one retriever returns the order of that retriever: no reranking, no neighbors.
        if self.plan.query.retrievers != Retrievers::All || candidates.is_empty() {
            return Ok(candidates);
        }
        self.rerank_best(&mut candidates).await;
        self.add_neighbors(&mut candidates).await;
        Ok(candidates)
    }

    async fn rerank_best(&mut self, candidates: &mut Vec<Candidate>) {
        let Some(reranker) = self.parts.reranker.as_deref().filter(|_| self.plan.options.rerank_candidates > 0) else {
            return;
        };
        let started = Instant::now();
        let outcome = self.trace.limit(Stage::Rerank, self.reranked(reranker, candidates)).await;
        let reranked = self.trace.finish(Stage::Rerank, started, outcome);
        // The list is empty on a timeout or an error; then the order stays.
        candidates.splice(..reranked.len(), reranked);
    }

    /// Adds the records next to the candidates, with a share of the candidates' scores.
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
