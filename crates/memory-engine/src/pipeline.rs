//! A recall, step by step: two arms at once, their union fused, the best judged once more, neighbours brought in,
//! repetitions moved back, the best given.

use std::time::Instant;

use memory_core::{Error, Hit, Record, RecordId, Result, Scope, Score};
use memory_embedder::Purpose;
use memory_keyword_store::KeywordQuery;
use memory_reranker::{Fused, Fusion, Novelty, Ranking, fuse};
use memory_vector_store::VectorQuery;
use rustc_hash::FxHashMap;

use crate::{
    Arm, Arms, Degraded, Found, MemoryEngine, Recall, RecallHit, RecallQuery, StageTime, indexer::indexed_text,
    neighbors,
};

/// How many candidates' neighbours are looked up.
const NEIGHBORED: usize = 200;

/// What a recall notes down on its way.
#[derive(Debug, Default)]
struct Trace {
    degraded: Vec<Degraded>,
    stages: Vec<StageTime>,
}

impl Trace {
    fn took(&mut self, stage: &'static str, since: Instant) {
        self.stages.push(StageTime { stage, took: since.elapsed() });
    }

    /// What a stage gave, or nothing and a note about why.
    fn or_nothing<T: Default>(&mut self, stage: &'static str, outcome: Result<T>) -> T {
        outcome.unwrap_or_else(|e| {
            self.degraded.push(Degraded { stage, reason: e.to_string() });
            T::default()
        })
    }
}

/// A record on its way through the recall.
#[derive(Debug, Clone)]
struct Candidate {
    id: RecordId,
    score: f64,
    found_by: Vec<Found>,
    reranked: Option<Score>,
}

pub(crate) async fn recall(engine: &MemoryEngine, scope: &Scope, query: &RecallQuery) -> Result<Recall> {
    if query.text.trim().is_empty() {
        return Err(Error::invalid("recall", "the question is empty; ask with at least one word"));
    }
    if let Some(filter) = &query.filter {
        filter.validate()?;
    }
    let mut trace = Trace::default();

    let started = Instant::now();
    let (keyword, vector) = tokio::join!(keyword_arm(engine, scope, query), vector_arm(engine, scope, query));
    // When no arm that takes part works there is nothing to degrade to.
    let (keyword, vector) = match (query.arms, keyword, vector) {
        (Arms::All, Err(_), Err(e)) | (Arms::KeywordOnly, Err(e), _) | (Arms::VectorOnly, _, Err(e)) => return Err(e),
        (_, keyword, vector) => (keyword, vector),
    };
    let (keyword, vector) = (trace.or_nothing("keyword", keyword), trace.or_nothing("vector", vector));
    trace.took("arms", started);

    let mut candidates = fuse_arms(engine, query, keyword, vector);

    if query.arms == Arms::All {
        let started = Instant::now();
        if let (Some(reranker), true) = (engine.reranker(), query.rerank) {
            let outcome = rerank(engine, reranker.as_ref(), scope, query, &mut candidates).await;
            trace.or_nothing("rerank", outcome);
            trace.took("rerank", started);
        }
        let started = Instant::now();
        let outcome = bring_in_neighbors(engine, scope, &mut candidates).await;
        trace.or_nothing("neighbors", outcome);
        trace.took("neighbors", started);
    }

    let started = Instant::now();
    let hits = fetch(engine, scope, query, candidates).await?;
    trace.took("fetch", started);
    Ok(Recall { hits, degraded: trace.degraded, stages: trace.stages })
}

async fn keyword_arm(engine: &MemoryEngine, scope: &Scope, query: &RecallQuery) -> Result<Vec<Hit>> {
    if query.arms == Arms::VectorOnly {
        return Ok(Vec::new());
    }
    let clauses = engine.analyze_query(query.text.clone()).await?;
    if clauses.is_empty() {
        return Ok(Vec::new()); // only stop words: not evidence of anything
    }
    let query = KeywordQuery::new(clauses, pool(engine, query)).with_filter(query.filter.clone());
    engine.keywords().search(scope, &query).await
}

async fn vector_arm(engine: &MemoryEngine, scope: &Scope, query: &RecallQuery) -> Result<Vec<Hit>> {
    if query.arms == Arms::KeywordOnly {
        return Ok(Vec::new());
    }
    let embedder = engine.embedder();
    let mut vectors = engine.embed(vec![query.text.clone()], Purpose::Query).await?;
    let Some(embedding) = vectors.pop() else { return Ok(Vec::new()) };
    let query = VectorQuery::new(embedding, pool(engine, query)).with_filter(query.filter.clone());
    let mut hits = engine.vectors().search(scope, &query).await?;
    hits.retain(|hit| hit.score.value() > embedder.score_floor());
    Ok(hits)
}

/// How many hits each arm brings in.
fn pool(engine: &MemoryEngine, query: &RecallQuery) -> usize {
    engine.options().pool.max(query.limit.unwrap_or(engine.options().limit))
}

fn fuse_arms(engine: &MemoryEngine, query: &RecallQuery, keyword: Vec<Hit>, vector: Vec<Hit>) -> Vec<Candidate> {
    let options = engine.options();
    let semantic = engine.embedder().semantic_weight().clamp(0.0, 1.0);
    let weight = (options.vector_weight * semantic).max(options.spelling_weight).clamp(0.0, 1.0);
    let rankings = [
        Ranking { weight: 1.0 - weight, hits: keyword, zero: Some(Score::new(0.0)) },
        Ranking { weight, hits: vector, zero: None },
    ];
    let fusion = Fusion { method: options.fusion, candidates: 2 * pool(engine, query) };
    fuse(&rankings, fusion).into_iter().map(Candidate::of).collect()
}

impl Candidate {
    fn of(fused: Fused) -> Self {
        let places = [Arm::Keyword, Arm::Vector].into_iter().zip(&fused.places);
        let found = |(arm, place): (Arm, &Option<memory_reranker::Place>)| {
            place.map(|place| Found { arm, rank: place.rank, score: place.score })
        };
        Self { id: fused.id, score: fused.score.value(), found_by: places.filter_map(found).collect(), reranked: None }
    }

    fn best_first(a: &Self, b: &Self) -> std::cmp::Ordering {
        Score::new(b.score).cmp(&Score::new(a.score)).then(a.id.cmp(&b.id))
    }
}

/// Has the best candidates judged together with the question. Their scores keep their range; within it the place is a
/// mixture of the place before and of what the reranker says.
async fn rerank(
    engine: &MemoryEngine,
    reranker: &dyn memory_reranker::Reranker,
    scope: &Scope,
    query: &RecallQuery,
    candidates: &mut [Candidate],
) -> Result<()> {
    let options = engine.options();
    let count = candidates.len().min(options.reranked);
    let judged = &mut candidates[..count];
    let ids: Vec<RecordId> = judged.iter().map(|c| c.id).collect();
    let records = engine.records().get(scope, &ids).await?;
    let texts: Vec<String> = records.iter().map(|r| r.as_ref().map(indexed_text).unwrap_or_default()).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let scores = reranker.rerank(&query.text, &texts).await?;
    let ends = |values: &mut dyn Iterator<Item = f64>| {
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
    };
    let (low, high) = ends(&mut judged.iter().map(|c| c.score));
    let (worst, best) = ends(&mut scores.iter().map(|s| s.value()));
    for (candidate, score) in judged.iter_mut().zip(scores) {
        candidate.reranked = Some(score);
        if best > worst {
            let says = low + (high - low) * (score.value() - worst) / (best - worst);
            candidate.score += options.rerank_weight * (says - candidate.score);
        }
    }
    candidates.sort_unstable_by(Candidate::best_first);
    Ok(())
}

/// Gives the neighbours of the best candidates their share, those that no arm has found among them.
async fn bring_in_neighbors(engine: &MemoryEngine, scope: &Scope, candidates: &mut Vec<Candidate>) -> Result<()> {
    let share = engine.options().neighbor_share;
    if share <= 0.0 || candidates.is_empty() {
        return Ok(());
    }
    let hits: Vec<Hit> =
        candidates.iter().take(NEIGHBORED).map(|c| Hit { id: c.id, score: Score::new(c.score) }).collect();
    let ids: Vec<RecordId> = hits.iter().map(|hit| hit.id).collect();
    let adjacent = engine.records().adjacent(scope, &ids).await?;
    let places: FxHashMap<RecordId, usize> = candidates.iter().enumerate().map(|(n, c)| (c.id, n)).collect();
    for (gain, rank) in neighbors::gains(&hits, &adjacent, share).into_iter().zip(1..) {
        let found = Found { arm: Arm::Neighbor, rank, score: gain.score };
        match places.get(&gain.id) {
            Some(n) => {
                candidates[*n].score += gain.score.value();
                candidates[*n].found_by.push(found);
            }
            None => {
                let (score, found_by) = (gain.score.value(), vec![found]);
                candidates.push(Candidate { id: gain.id, score, found_by, reranked: None });
            }
        }
    }
    candidates.sort_unstable_by(Candidate::best_first);
    Ok(())
}

/// Reads the records of the best candidates until `limit` of them are there and pass the filter (a neighbour may not),
/// those that repeat a better one behind the others.
async fn fetch(
    engine: &MemoryEngine,
    scope: &Scope,
    query: &RecallQuery,
    candidates: Vec<Candidate>,
) -> Result<Vec<RecallHit>> {
    let limit = query.limit.unwrap_or(engine.options().limit);
    let mut novelty = Novelty::new(engine.options().near_duplicate);
    let (mut fresh, mut repeated): (Vec<RecallHit>, Vec<RecallHit>) = (Vec::new(), Vec::new());
    let mut seen = Vec::new();
    let mut rest = candidates.into_iter();
    while fresh.len() < limit {
        let batch: Vec<Candidate> = rest.by_ref().take(limit - fresh.len()).collect();
        if batch.is_empty() {
            break;
        }
        let ids: Vec<RecordId> = batch.iter().map(|c| c.id).collect();
        for (candidate, record) in batch.into_iter().zip(engine.records().get(scope, &ids).await?) {
            // A record may have been deleted since its arm found it.
            let Some(record) = record.filter(|r| query.filter.as_ref().is_none_or(|f| f.matches(r))) else { continue };
            let repeats = novelty.repeats(&record.text).map(|n| seen[n]);
            seen.push(record.id);
            let hit = candidate.into_hit(record, repeats);
            if repeats.is_some() { &mut repeated } else { &mut fresh }.push(hit);
        }
    }
    fresh.append(&mut repeated);
    fresh.truncate(limit);
    Ok(fresh)
}

impl Candidate {
    fn into_hit(self, record: Record, repeats: Option<RecordId>) -> RecallHit {
        let Self { score, found_by, reranked, .. } = self;
        RecallHit { record, score: Score::new(score), reranked, found_by, repeats }
    }
}
