//! The best candidates, judged once more together with the question.

use memory_engine_core::{Error, ErrorKind, RecordId, Result, Scope};
use memory_engine_reranker::Reranker;

use super::{candidate::Candidate, plan::Plan};
use crate::{MemoryEngine, background::indexed_text};

/// The best candidates anew. Their scores keep their range; within it the place is a mixture of the place before and of
/// what the reranker says.
pub(crate) async fn rerank(
    engine: &MemoryEngine,
    reranker: &dyn Reranker,
    scope: &Scope,
    plan: &Plan<'_>,
    candidates: &[Candidate],
) -> Result<Vec<Candidate>> {
    let mut judged = candidates[..candidates.len().min(plan.options.reranked)].to_vec();
    let ids: Vec<RecordId> = judged.iter().map(|c| c.id).collect();
    let records = engine.records().get(scope, &ids).await?;
    let texts: Vec<String> = records.iter().map(|r| r.as_ref().map(indexed_text).unwrap_or_default()).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let scores = reranker.rerank(&plan.query.text, &texts).await?;
    if scores.len() != texts.len() {
        let message = format!("{} scores for {} candidates", scores.len(), texts.len());
        return Err(Error::new(ErrorKind::Corrupt, "rerank", message));
    }
    let ends = |values: &mut dyn Iterator<Item = f64>| {
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
    };
    let (low, high) = ends(&mut judged.iter().map(|c| c.score));
    let (worst, best) = ends(&mut scores.iter().map(|s| s.value()));
    for (candidate, score) in judged.iter_mut().zip(scores) {
        candidate.reranked = Some(score);
        if best > worst {
            let says = low + (high - low) * (score.value() - worst) / (best - worst);
            candidate.score += plan.options.rerank_weight * (says - candidate.score);
        }
    }
    judged.sort_unstable_by(Candidate::best_first);
    Ok(judged)
}
