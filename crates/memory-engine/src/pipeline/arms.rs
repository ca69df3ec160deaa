//! The arms: each finds what it can by itself.

use memory_core::{Hit, Result, Scope, Score};
use memory_embedder::Purpose;
use memory_keyword_store::{Clause, KeywordQuery};
use memory_reranker::{Fusion, Ranking, fuse};
use memory_vector_store::VectorQuery;

use super::{candidate::Candidate, plan::Plan};
use crate::{Arms, MemoryEngine, dates};

/// What the question's words find.
pub(crate) async fn keyword(engine: &MemoryEngine, scope: &Scope, plan: &Plan<'_>) -> Result<Vec<Hit>> {
    if plan.query.arms == Arms::VectorOnly {
        return Ok(Vec::new());
    }
    let clauses = engine.analyze_query(plan.query.text.clone()).await?;
    let mut clauses = if plan.options.synonyms { expand(engine, scope, plan, clauses).await } else { clauses };
    if plan.options.date_weight > 0.0 {
        let query = plan.query;
        clauses.extend(dates::clauses(&query.text, plan.asked_at, &query.zone, plan.options.date_weight));
    }
    if clauses.is_empty() {
        return Ok(Vec::new()); // only stop words: not evidence of anything
    }
    let query = KeywordQuery::new(clauses, plan.pool).with_filter(plan.filter.clone());
    engine.keywords().search(scope, &query).await
}

/// The clauses with the synonyms of the question's words; as they are, when the synonyms cannot be had.
async fn expand(engine: &MemoryEngine, scope: &Scope, plan: &Plan<'_>, clauses: Vec<Clause>) -> Vec<Clause> {
    match engine.synonyms().of(scope).await {
        Ok(thesaurus) => thesaurus.expand(&plan.query.text, clauses),
        Err(_) => clauses,
    }
}

/// What lies near the question's vector, above what its embedder finds between any two texts.
pub(crate) async fn vector(engine: &MemoryEngine, scope: &Scope, plan: &Plan<'_>) -> Result<Vec<Hit>> {
    if plan.query.arms == Arms::KeywordOnly {
        return Ok(Vec::new());
    }
    let embedder = engine.embedder();
    let mut vectors = engine.embed(vec![plan.query.text.clone()], Purpose::Query).await?;
    let Some(embedding) = vectors.pop() else { return Ok(Vec::new()) };
    let query = VectorQuery::new(embedding, plan.pool).with_filter(plan.filter.clone());
    let mut hits = engine.vectors().search(scope, &query).await?;
    hits.retain(|hit| hit.score.value() > embedder.score_floor());
    Ok(hits)
}

/// The union of what the arms found, best first.
pub(crate) fn fused(engine: &MemoryEngine, plan: &Plan<'_>, keyword: Vec<Hit>, vector: Vec<Hit>) -> Vec<Candidate> {
    let options = &plan.options;
    let semantic = engine.embedder().semantic_weight().clamp(0.0, 1.0);
    let weight = (options.vector_weight * semantic).max(options.spelling_weight).clamp(0.0, 1.0);
    let rankings = [
        Ranking { weight: 1.0 - weight, hits: keyword, zero: Some(Score::new(0.0)) },
        Ranking { weight, hits: vector, zero: None },
    ];
    let fusion = Fusion { method: options.fusion, candidates: 2 * plan.pool };
    fuse(&rankings, fusion).into_iter().map(Candidate::of).collect()
}
