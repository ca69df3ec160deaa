//! Reranking of the best candidates.

use memory_engine_core::{Error, ErrorKind, RecordId, Result};
use memory_engine_indexing::indexed_text;
use memory_engine_reranker::Reranker;

use crate::{candidate::Candidate, run::RecallRun};

impl RecallRun<'_> {
    /// Returns the best candidates in their new order. Their scores keep their range; within it each is a mixture of
    /// the score before and of the reranker's.
    pub(crate) async fn reranked(&self, reranker: &dyn Reranker, candidates: &[Candidate]) -> Result<Vec<Candidate>> {
        let options = &self.plan.options;
        let mut best = candidates[..candidates.len().min(options.rerank_candidates)].to_vec();
        let ids: Vec<RecordId> = best.iter().map(|c| c.id).collect();
        let records = self.scope.get(&self.parts.store, &ids).await?;
        let texts: Vec<String> = records.iter().map(|r| r.as_ref().map(indexed_text).unwrap_or_default()).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let scores = reranker.rerank(&self.plan.query.text, &texts).await?;
        if scores.len() != texts.len() {
            let message = format!("{} scores for {} candidates", scores.len(), texts.len());
            return Err(Error::new(ErrorKind::Corrupt, "rerank", message));
        }
        let (low, high) = range(best.iter().map(|c| c.score));
        let (worst, top) = range(scores.iter().map(|s| s.value()));
        for (candidate, score) in best.iter_mut().zip(scores) {
            candidate.reranked = Some(score);
            if top > worst {
                let scaled = low + (high - low) * (score.value() - worst) / (top - worst);
                candidate.score += options.rerank_weight * (scaled - candidate.score);
            }
        }
        best.sort_unstable_by(Candidate::best_first);
        Ok(best)
    }
}

/// The least and the greatest of these values.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
}
