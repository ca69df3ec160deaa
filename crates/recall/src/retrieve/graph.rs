//! The graph arm: what the records say that lie around the entities of a question.

use memory_engine_core::{Hit, RecordId, Result, Scope, Score};
use memory_engine_graph::{GraphQuery, Subgraph};
use rustc_hash::FxHashMap;

use super::plan::Plan;
use crate::{Arms, MemoryEngine, entity_graph};

/// How much is looked at around them.
const ENTITIES: usize = 24;
const EDGES: usize = 64;
const EVIDENCE: usize = 8;

/// How sure a record is to be meant that says how two entities of the question are related, one of them and another, two
/// others on the way; and one that only names an entity of the question.
const BETWEEN: f64 = 0.8;
const BESIDE: f64 = 0.4;
const FURTHER: f64 = 0.2;
const NAMED: f64 = 0.1;

/// The records around the entities that the question names, or what was said before it. Nothing, when the engine has no graph.
pub(crate) async fn search(engine: &MemoryEngine, scope: &Scope, plan: &Plan<'_>) -> Result<Vec<Hit>> {
    let is_off = engine.graph_parts().extractor.is_none() || plan.options.graph_weight <= 0.0;
    if is_off || plan.query.arms != Arms::All {
        return Ok(Vec::new());
    }
    let texts = [&plan.query.text].into_iter().chain(&plan.query.context).map(String::as_str);
    let query = GraphQuery::new(entity_graph::seeds(texts))
        .with_hops(plan.options.graph_hops.min(GraphQuery::MAX_HOPS))
        .with_limits(ENTITIES, EDGES)
        .with_evidence(EVIDENCE)
        .with_filter(plan.filter.clone());
    let mut hits = scored(&engine.graph_parts().store.expand(scope, &query).await?);
    hits.truncate(plan.pool);
    Ok(hits)
}

/// Each piece of evidence by itself makes a record so much more likely to be meant: 1 − Π (1 − wᵢ), a noisy or.
fn scored(found: &Subgraph) -> Vec<Hit> {
    let hops = |id| found.entity(id).map_or(u32::MAX, |entity| entity.hops);
    let mut doubts: FxHashMap<RecordId, f64> = FxHashMap::default();
    for edge in &found.edges {
        let weight = match (hops(edge.source), hops(edge.target)) {
            (0, 0) => BETWEEN,
            (0, _) | (_, 0) => BESIDE,
            _ => FURTHER,
        };
        edge.evidence.iter().for_each(|id| *doubts.entry(*id).or_insert(1.0) *= 1.0 - weight);
    }
    for entity in found.entities.iter().filter(|entity| entity.hops == 0) {
        entity.evidence.iter().for_each(|id| *doubts.entry(*id).or_insert(1.0) *= 1.0 - NAMED);
    }
    let mut hits: Vec<Hit> = doubts.into_iter().map(|(id, doubt)| Hit { id, score: Score::new(1.0 - doubt) }).collect();
    hits.sort_unstable_by(Hit::best_first);
    hits
}
