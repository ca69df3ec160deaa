//! Reranking of the best candidates by a model that looks at query and candidate together.

use memory_engine_core::{Error, ErrorKind, Result, Score};
use memory_engine_indexing::indexed_text;
use memory_engine_reranker::Reranker;
use tokio::time::Instant;

use crate::{candidate::Candidate, rank::RankedCandidate, ranking_step::RankingStep, run::RecallRun, trace::Stage};

impl RecallRun<'_> {
    /// Lets the reranker, if there is one, reorder the best candidates. On a timeout or an error the order stays.
    pub(crate) async fn rerank_best(&mut self, ranked: &mut [RankedCandidate]) {
        let count = self.plan.options.rerank_candidates.min(ranked.len());
        let Some(reranker) = self.parts.reranker.as_deref().filter(|_| count > 0) else { return };
        let best = &mut ranked[..count];
        let texts: Vec<String> = best.iter().map(|ranked| indexed_text(&ranked.record)).collect();
        let started = Instant::now();
        let scores = rerank(reranker, &self.plan.query.text, &texts);
        let outcome = self.trace.limit(Stage::Rerank, scores).await;
        let scores = self.trace.finish(Stage::Rerank, started, outcome);
        mix_scores(best, &scores, self.plan.options.rerank_weight);
        if !scores.is_empty() {
            self.record_ranks(RankingStep::Reranked, ranked);
        }
    }
}

async fn rerank(reranker: &dyn Reranker, query: &str, texts: &[String]) -> Result<Vec<Score>> {
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let scores = reranker.rerank(query, &texts).await?;
    if scores.len() != texts.len() {
        let message = format!("{} scores for {} candidates", scores.len(), texts.len());
        return Err(Error::new(ErrorKind::Corrupt, "rerank", message));
    }
    Ok(scores)
}

/// Moves the score of each candidate towards that of the reranker, by `weight`. The scores keep their range.
fn mix_scores(candidates: &mut [RankedCandidate], scores: &[Score], weight: f64) {
    let (low, high) = range(candidates.iter().map(|ranked| ranked.candidate.score));
    let (worst, top) = range(scores.iter().map(|s| s.value()));
    for (ranked, score) in candidates.iter_mut().zip(scores) {
        ranked.candidate.reranked = Some(*score);
        if top > worst {
            let scaled = low + (high - low) * (score.value() - worst) / (top - worst);
            ranked.candidate.score += weight * (scaled - ranked.candidate.score);
        }
    }
    candidates.sort_by(|a, b| Candidate::best_first(&a.candidate, &b.candidate));
}

/// The least and the greatest of these values.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
}
