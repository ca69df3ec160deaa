//! The graph retriever.
//!
//! Reasons: `docs/design/decisions/0018-graph-retriever-only-adds.md`.

use memory_engine_core::{Hit, RecordId, Result, Score};
use memory_engine_graph::{GraphQuery, Subgraph};
use rustc_hash::FxHashMap;

use crate::{graph_facts::seeds, query::Retrievers, run::RecallRun};

/// Maximum size of the subgraph around the query's entities, and of the evidence per entity or relation.
const MAX_ENTITIES: usize = 24;
const MAX_EDGES: usize = 64;
const MAX_EVIDENCE: usize = 8;

/// Probability that a record is meant that relates two entities of the query, one of them and another, two others on
/// the way; and one that only names an entity of the query.
const BOTH_NAMED: f64 = 0.8;
const ONE_NAMED: f64 = 0.4;
const NONE_NAMED: f64 = 0.2;
const MENTION: f64 = 0.1;

impl RecallRun<'_> {
    /// Returns records about the entities that the query, or the dialogue before it, names; `None` if the graph takes
    /// no part.
    pub(crate) async fn search_graph(&self) -> Result<Option<Vec<Hit>>> {
        let plan = &self.plan;
        let is_off = !self.parts.uses_graph || plan.options.graph_weight <= 0.0;
        if is_off || plan.query.retrievers != Retrievers::All {
            return Ok(None);
        }
        let texts = [&plan.query.text].into_iter().chain(&plan.query.context).map(String::as_str);
        let mut query = GraphQuery::new(seeds(texts))
            .with_hops(plan.options.graph_hops.min(GraphQuery::MAX_HOPS))
            .with_limits(MAX_ENTITIES, MAX_EDGES)
            .with_evidence(MAX_EVIDENCE)
            .with_filter(plan.filter.clone());
        query.at = plan.query.as_of;
        let subgraph = self.scope.expand_graph(self.parts.store.graph().as_ref(), query).await?;
        let mut hits = scored(&subgraph);
        if let Some(past) = &self.past {
            past.retain_valid(&mut hits);
        }
        hits.truncate(plan.max_candidates);
        Ok(Some(hits))
    }
}

/// Scores each record by its pieces of evidence, combined by a noisy-or: 1 − Π (1 − wᵢ).
fn scored(subgraph: &Subgraph) -> Vec<Hit> {
    let hops = |id| subgraph.entity(id).map_or(u32::MAX, |entity| entity.hops);
    let mut doubts: FxHashMap<RecordId, f64> = FxHashMap::default();
    for edge in &subgraph.edges {
        let weight = match (hops(edge.source), hops(edge.target)) {
            (0, 0) => BOTH_NAMED,
            (0, _) | (_, 0) => ONE_NAMED,
            _ => NONE_NAMED,
        };
        edge.evidence.iter().for_each(|id| *doubts.entry(*id).or_insert(1.0) *= 1.0 - weight);
    }
    for entity in subgraph.entities.iter().filter(|entity| entity.hops == 0) {
        entity.evidence.iter().for_each(|id| *doubts.entry(*id).or_insert(1.0) *= 1.0 - MENTION);
    }
    let mut hits: Vec<Hit> = doubts.into_iter().map(|(id, doubt)| Hit { id, score: Score::new(1.0 - doubt) }).collect();
    hits.sort_unstable_by(Hit::best_first);
    hits
}
