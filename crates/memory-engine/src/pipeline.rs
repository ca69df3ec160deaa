//! A recall, step by step: two arms at once, their union fused by rank, repetitions moved back, the best given.

use std::time::Instant;

use memory_core::{Error, Hit, Record, Result, Scope};
use memory_embedder::Purpose;
use memory_keyword_store::KeywordQuery;
use memory_reranker::{Fused, Fusion, Novelty, Ranking, fuse};
use memory_vector_store::VectorQuery;
use rustc_hash::FxHashMap;

use crate::{
    Arm, Arms, Degraded, Found, MemoryEngine, Recall, RecallHit, RecallOptions, RecallQuery, StageTime,
    neighbors::{self, Neighbors},
};

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

    /// The arm's hits, or none and a note about why.
    fn hits(&mut self, stage: &'static str, found: &Result<Vec<Hit>>) -> Vec<Hit> {
        match found {
            Ok(hits) => hits.clone(),
            Err(e) => {
                self.degraded.push(Degraded { stage, reason: e.to_string() });
                Vec::new()
            }
        }
    }
}

pub(crate) async fn recall(engine: &MemoryEngine, scope: &Scope, query: &RecallQuery) -> Result<Recall> {
    if query.text.trim().is_empty() {
        return Err(Error::invalid("recall", "the question is empty; ask with at least one word"));
    }
    if let Some(filter) = &query.filter {
        filter.validate()?;
    }
    let options = engine.options();
    let limit = query.limit.unwrap_or(options.limit);
    let mut trace = Trace::default();

    let started = Instant::now();
    let (keyword, vector) = tokio::join!(keyword_arm(engine, scope, query), vector_arm(engine, scope, query));
    if let (Err(_), Err(e)) = (&keyword, vector.as_ref()) {
        // Both arms are down: there is nothing to degrade to.
        return Err(Error::new(e.kind(), "recall", e.message()));
    }
    trace.took("arms", started);
    let (keyword, vector) = (trace.hits("keyword", &keyword), trace.hits("vector", &vector));

    let started = Instant::now();
    let neighbors = neighbor_arm(engine, scope, &keyword, query, &mut trace).await;
    trace.took("neighbors", started);

    let started = Instant::now();
    let rankings = [
        Ranking { weight: options.keyword_weight, hits: neighbors.ranked.clone() },
        Ranking { weight: vector_weight(options, engine.embedder().semantic_weight()), hits: vector },
    ];
    let candidates = limit.max(options.pool);
    let fused = fuse(&rankings, Fusion { k: options.fusion_k, candidates });
    trace.took("fusion", started);

    let started = Instant::now();
    let explain = Explain { keyword: &keyword, neighbors: &neighbors };
    let hits = fetch(engine, scope, query, fused, limit).await?;
    let hits = hits.into_iter().map(|(fused, record, repeats)| explain.hit(&fused, record, repeats)).collect();
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
    let query = KeywordQuery::new(clauses, engine.options().pool).with_filter(query.filter.clone());
    engine.keywords().search(scope, &query).await
}

async fn vector_arm(engine: &MemoryEngine, scope: &Scope, query: &RecallQuery) -> Result<Vec<Hit>> {
    if query.arms == Arms::KeywordOnly {
        return Ok(Vec::new());
    }
    let embedder = engine.embedder();
    let mut vectors = embedder.embed(&[query.text.as_str()], Purpose::Query).await?;
    let Some(embedding) = vectors.pop() else { return Ok(Vec::new()) };
    let query = VectorQuery::new(embedding, engine.options().pool).with_filter(query.filter.clone());
    let mut hits = engine.vectors().search(scope, &query).await?;
    hits.retain(|hit| hit.score.value() > embedder.score_floor());
    Ok(hits)
}

async fn neighbor_arm(
    engine: &MemoryEngine,
    scope: &Scope,
    keyword: &[Hit],
    query: &RecallQuery,
    trace: &mut Trace,
) -> Neighbors {
    let share = engine.options().neighbor_share;
    let alone = || Neighbors { ranked: keyword.to_vec(), ..Neighbors::default() };
    if share <= 0.0 || keyword.is_empty() || query.arms != Arms::All {
        return alone();
    }
    let ids: Vec<_> = keyword.iter().map(|hit| hit.id).collect();
    match engine.records().adjacent(scope, &ids).await {
        Ok(adjacent) => neighbors::add(keyword, &adjacent, share),
        Err(e) => {
            trace.degraded.push(Degraded { stage: "neighbors", reason: e.to_string() });
            alone()
        }
    }
}

fn vector_weight(options: &RecallOptions, semantic: f64) -> f64 {
    options.spelling_weight + semantic.clamp(0.0, 1.0) * (options.keyword_weight - options.spelling_weight)
}

type Fetched = (Fused, Record, Option<memory_core::RecordId>);

/// Reads the records of the best candidates until `limit` of them are there and pass the filter (a neighbour may not),
/// those that repeat a better one behind the others.
async fn fetch(
    engine: &MemoryEngine,
    scope: &Scope,
    query: &RecallQuery,
    fused: Vec<Fused>,
    limit: usize,
) -> Result<Vec<Fetched>> {
    let mut novelty = Novelty::new(engine.options().near_duplicate);
    let (mut fresh, mut repeated): (Vec<Fetched>, Vec<Fetched>) = (Vec::new(), Vec::new());
    let mut seen = Vec::new();
    let mut rest = fused.into_iter();
    while fresh.len() < limit {
        let batch: Vec<Fused> = rest.by_ref().take(limit - fresh.len()).collect();
        if batch.is_empty() {
            break;
        }
        let ids: Vec<_> = batch.iter().map(|f| f.id).collect();
        for (fused, record) in batch.into_iter().zip(engine.records().get(scope, &ids).await?) {
            // A record may have been deleted since its arm found it.
            let Some(record) = record.filter(|r| query.filter.as_ref().is_none_or(|f| f.matches(r))) else { continue };
            let repeats = novelty.repeats(&record.text).map(|n| seen[n]);
            seen.push(record.id);
            if repeats.is_some() { &mut repeated } else { &mut fresh }.push((fused, record, repeats));
        }
    }
    fresh.append(&mut repeated);
    fresh.truncate(limit);
    Ok(fresh)
}

/// Says for each hit who found it.
struct Explain<'a> {
    keyword: &'a [Hit],
    neighbors: &'a Neighbors,
}

impl Explain<'_> {
    fn hit(&self, fused: &Fused, record: Record, repeats: Option<memory_core::RecordId>) -> RecallHit {
        let ranks: FxHashMap<_, _> =
            self.keyword.iter().zip(1_usize..).map(|(hit, rank)| (hit.id, (rank, hit.score))).collect();
        let mut found_by = Vec::new();
        if let Some((rank, score)) = ranks.get(&record.id) {
            found_by.push(Found { arm: Arm::Keyword, rank: *rank, score: *score });
        }
        if let Some(place) = fused.places.get(1).copied().flatten() {
            found_by.push(Found { arm: Arm::Vector, rank: place.rank, score: place.score });
        }
        if let (Some(gain), Some(place)) =
            (self.neighbors.gained.get(&record.id), fused.places.first().copied().flatten())
        {
            found_by.push(Found { arm: Arm::Neighbor, rank: place.rank, score: *gain });
        }
        RecallHit { record, score: fused.score, found_by, repeats }
    }
}
