//! The arms: each finds what it can by itself.

use std::sync::Arc;

use memory_engine_core::{Hit, RecordId, Result, Scope, Score};
use memory_engine_embedder::Purpose;
use memory_engine_keyword_store::KeywordQuery;
use memory_engine_reranker::{Fused, Fusion, Ranking, fuse};
use memory_engine_synonyms::Thesaurus;
use memory_engine_vector_store::VectorQuery;
use rustc_hash::FxHashMap;

use super::{candidate::Candidate, plan::Plan};
use crate::{Arms, MemoryEngine, dates, spaces::Space};

/// What the keyword arm found.
#[derive(Debug, Default)]
pub(crate) struct Words {
    /// By the question's words and the stretches of time that it names.
    hits: Vec<Hit>,
    /// By its words alone, when it names both.
    by_words_alone: Option<FxHashMap<RecordId, f64>>,
}

/// What the question's words find. Without a thesaurus it goes by the words as they are.
pub(crate) async fn keyword(
    engine: &MemoryEngine,
    scope: &Scope,
    plan: &Plan<'_>,
    thesaurus: Option<&Thesaurus>,
) -> Result<Words> {
    if plan.query.arms == Arms::VectorOnly {
        return Ok(Words::default());
    }
    let text = &plan.query.text;
    let mut clauses = engine.analyze_query(text.clone()).await?;
    if let Some(thesaurus) = thesaurus {
        clauses = thesaurus.expand(text, clauses);
    }
    let dated = match plan.options.date_weight {
        weight if weight > 0.0 => dates::clauses(text, plan.asked_at, &plan.query.zone, weight),
        _ => Vec::new(),
    };
    if clauses.is_empty() && dated.is_empty() {
        return Ok(Words::default()); // only stop words: not evidence of anything
    }
    let search = async |clauses| {
        let query = KeywordQuery::new(clauses, plan.pool).with_filter(plan.filter.clone());
        engine.keywords().search(scope, &query).await
    };
    if clauses.is_empty() || dated.is_empty() {
        return Ok(Words { hits: search([clauses, dated].concat()).await?, by_words_alone: None });
    }
    let words = search(clauses.clone()).await?;
    let by_words_alone = Some(words.into_iter().map(|hit| (hit.id, hit.score.value())).collect());
    Ok(Words { hits: search([clauses, dated].concat()).await?, by_words_alone })
}

/// The synonyms that apply; none, when no question's words are looked for.
pub(crate) async fn thesaurus(engine: &MemoryEngine, scope: &Scope, plan: &Plan<'_>) -> Result<Option<Arc<Thesaurus>>> {
    let wanted = plan.options.synonyms && plan.query.arms != Arms::VectorOnly;
    if wanted { engine.synonyms().of(scope).await.map(Some) } else { Ok(None) }
}

/// What lies near the question's vector, above what its embedder finds between any two texts.
pub(crate) async fn vector(engine: &MemoryEngine, scope: &Scope, plan: &Plan<'_>) -> Result<Vec<Hit>> {
    if plan.query.arms == Arms::KeywordOnly {
        return Ok(Vec::new());
    }
    let Space { embedder, vectors: store } = &plan.space;
    let mut vectors = engine.embed_in(&plan.space, vec![plan.query.text.clone()], Purpose::Query).await?;
    let Some(embedding) = vectors.pop() else { return Ok(Vec::new()) };
    let query = VectorQuery::new(embedding, plan.pool).with_filter(plan.filter.clone());
    let mut hits = store.search(scope, &query).await?;
    hits.retain(|hit| hit.score.value() > embedder.score_floor());
    Ok(hits)
}

/// The union of what the arms found, best first.
pub(crate) fn fused(plan: &Plan<'_>, keyword: Words, vector: Vec<Hit>, graph: Vec<Hit>) -> Vec<Candidate> {
    let options = &plan.options;
    let semantic = plan.space.embedder.semantic_weight().clamp(0.0, 1.0);
    let weight = (options.vector_weight * semantic).max(options.spelling_weight).clamp(0.0, 1.0);
    let farthest = vector.last().filter(|_| vector.len() >= plan.pool).map(|hit| hit.score.value());
    let rankings = [
        Ranking { weight: 1.0 - weight, hits: keyword.hits, zero: Some(Score::new(0.0)) },
        Ranking { weight, hits: vector, zero: None },
        // It only ever adds: without a graph the weights of the others are what they were.
        Ranking { weight: options.graph_weight.max(0.0), hits: graph, zero: Some(Score::new(0.0)) },
    ];
    let fusion = Fusion { method: options.fusion, candidates: plan.pool.saturating_mul(2) };
    let alone = |id: &RecordId| keyword.by_words_alone.as_ref().map(|words| words.get(id).copied().unwrap_or(0.0));
    let candidate = |fused: Fused| {
        let near = fused.places[1].map(|place| place.score.value()).or(farthest);
        Candidate { words: alone(&fused.id), near, ..Candidate::of(fused) }
    };
    fuse(&rankings, fusion).into_iter().map(candidate).collect()
}
