//! A recall, step by step: the arms at once, their union fused, the best judged once more, neighbours brought in, boosts
//! applied, repetitions moved back, the best given. One deadline for all.

mod arms;
mod candidate;
mod explain;
mod graph;
mod neighbors;
mod plan;
mod policy;
mod rerank;
mod select;
mod trace;

use memory_engine_core::{ErrorKind, Result, Scope};
use tokio::time::Instant;

use crate::{Arms, MemoryEngine, Recall, RecallQuery};
use candidate::Candidate;
use plan::Plan;
use trace::{Stage, Trace};

pub(crate) use explain::explain;
pub(crate) use plan::named_time;

pub(crate) async fn recall(engine: &MemoryEngine, scope: &Scope, query: &RecallQuery) -> Result<Recall> {
    let view = engine.view(scope).await?;
    let mut plan = Plan::new(engine, query, view.filter)?;
    let scope = &view.scope;
    let mut trace = Trace::new(plan.options.deadline);
    if query.scene.as_ref().is_some_and(|scene| !engine.scene_policy().recalls(scene)) {
        return Ok(trace.into_recall(Vec::new()));
    }
    let candidates = candidates(engine, scope, &mut plan, &mut trace).await?;
    let started = Instant::now();
    let hits = select::hits(engine, scope, &plan, &mut trace, candidates).await?;
    trace.took(Stage::Fetch.name(), started);
    Ok(trace.into_recall(hits))
}

/// Everything that was found, best first.
async fn candidates(
    engine: &MemoryEngine,
    scope: &Scope,
    plan: &mut Plan<'_>,
    trace: &mut Trace,
) -> Result<Vec<Candidate>> {
    let started = Instant::now();
    let words = async {
        let thesaurus = trace.limit(Stage::Synonyms, arms::thesaurus(engine, scope, plan)).await;
        let known = thesaurus.as_ref().ok().and_then(Option::as_deref);
        let words = trace.limit(Stage::Keyword, arms::keyword(engine, scope, plan, known)).await;
        (thesaurus, words)
    };
    let ((thesaurus, keyword), vector, graph) = tokio::join!(
        words,
        trace.limit(Stage::Vector, arms::vector(engine, scope, plan)),
        trace.limit(Stage::Graph, graph::search(engine, scope, plan)),
    );
    let vector = match vector {
        // The store has changed over to the other embedder meanwhile.
        Err(e) if e.kind() == ErrorKind::SchemaMismatch && engine.spaces().turn_from(&plan.space) => {
            plan.space = engine.spaces().serving().clone();
            trace.limit(Stage::Vector, arms::vector(engine, scope, plan)).await
        }
        vector => vector,
    };
    trace.or_nothing(Stage::Synonyms, thesaurus);
    trace.took("arms", started);
    let late = |e: &memory_engine_core::Error| e.kind() == ErrorKind::Timeout;
    // When every arm that takes part is broken there is nothing to degrade to. One that is only late leaves less.
    let (keyword, vector) = match (plan.query.arms, keyword, vector) {
        (Arms::All, Err(k), Err(v)) if !late(&k) && !late(&v) => return Err(v),
        (Arms::KeywordOnly, Err(e), _) | (Arms::VectorOnly, _, Err(e)) if !late(&e) => return Err(e),
        (_, keyword, vector) => (keyword, vector),
    };
    let (keyword, vector) = (trace.or_nothing(Stage::Keyword, keyword), trace.or_nothing(Stage::Vector, vector));
    let graph = trace.or_nothing(Stage::Graph, graph);
    let mut candidates = arms::fused(plan, keyword, vector, graph);
    if plan.query.arms != Arms::All || candidates.is_empty() {
        return Ok(candidates);
    }
    if let (Some(reranker), 1..) = (engine.reranker(), plan.options.reranked) {
        let judged = rerank::rerank(engine, reranker.as_ref(), scope, plan, &candidates);
        let judged = trace.optional(Stage::Rerank, judged).await;
        candidates.splice(..judged.len(), judged);
    }
    if plan.options.neighbor_share > 0.0 {
        let gains = neighbors::of(engine, scope, plan.options.neighbor_share, &candidates);
        let gains = trace.optional(Stage::Neighbors, gains).await;
        neighbors::bring_in(gains, &mut candidates);
    }
    Ok(candidates)
}
