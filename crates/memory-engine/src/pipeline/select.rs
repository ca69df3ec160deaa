//! The last stage: reads the records of the best candidates, lets the boosts have their say, and puts repetitions behind.

use memory_core::{Record, RecordId, Result, Scope, Score};
use memory_embedder::Embedder;
use memory_reranker::Novelty;

use super::{candidate::Candidate, plan::Plan, policy::Policy};
use crate::{Arm, Found, MemoryEngine, RecallHit};

/// How many more records than hits are read at once, since boosts may bring later ones forward.
const READ: usize = 2;

/// The best hits, those that repeat a better one behind the others.
///
/// Records are read from the best candidate on until no other can get among the first `limit`, however it is boosted.
pub(crate) async fn hits(
    engine: &MemoryEngine,
    scope: &Scope,
    plan: &Plan<'_>,
    candidates: Vec<Candidate>,
) -> Result<Vec<RecallHit>> {
    let policy = Policy::new(plan, engine.scene_policy(), engine.clock().now());
    let most = policy.most();
    let mut read: Vec<RecallHit> = Vec::new();
    let mut rest = candidates.into_iter().peekable();
    loop {
        let batch: Vec<Candidate> = rest.by_ref().take((READ * plan.limit).max(1)).collect();
        let ids: Vec<RecordId> = batch.iter().map(|c| c.id).collect();
        for (candidate, record) in batch.into_iter().zip(engine.records().get(scope, &ids).await?) {
            // A record may have been deleted since its arm found it; and a neighbour need not pass the filter.
            let Some(record) = record.filter(|r| plan.filter.as_ref().is_none_or(|f| f.matches(r))) else { continue };
            read.push(boosted(candidate, record, &policy, engine.embedder().as_ref(), plan));
        }
        read.sort_by(|a, b| b.score.cmp(&a.score).then(a.record.id.cmp(&b.record.id)));
        let Some(next) = rest.peek() else { break };
        let bound = Score::new(next.score * most);
        let settled = read.partition_point(|hit| hit.score >= bound);
        if told_apart(&mut read[..settled], plan) >= plan.limit {
            break;
        }
    }
    told_apart(&mut read, plan);
    let (mut fresh, mut repeated): (Vec<_>, Vec<_>) = read.into_iter().partition(|hit| hit.repeats.is_none());
    fresh.append(&mut repeated);
    fresh.truncate(plan.limit);
    Ok(fresh)
}

fn boosted(
    candidate: Candidate,
    record: Record,
    policy: &Policy<'_>,
    embedder: &dyn Embedder,
    plan: &Plan<'_>,
) -> RecallHit {
    let relevant = candidate.found_by.iter().any(|found| fits(found, embedder, plan));
    let Candidate { score, found_by, reranked, .. } = candidate;
    let boosts = policy.boosts(&record);
    let score = boosts.iter().fold(score, |score, boost| score * boost.factor);
    RecallHit { record, score: Score::new(score), reranked, relevant, boosts, found_by, repeats: None }
}

/// Whether what an arm found fits the question by itself. Nearness by an embedder that knows nothing about meaning proves
/// nothing, and neither does a neighbour.
fn fits(found: &Found, embedder: &dyn Embedder, plan: &Plan<'_>) -> bool {
    let score = found.score.value();
    match found.arm {
        Arm::Keyword => score >= plan.options.relevant_words,
        Arm::Vector => {
            let floor = embedder.score_floor();
            embedder.semantic_weight() > 0.0 && score >= floor + (1.0 - floor) * plan.options.relevant_nearness
        }
        Arm::Neighbor => false,
    }
}

/// Marks the hits that repeat a better one, until enough others are found, and counts those.
fn told_apart(hits: &mut [RecallHit], plan: &Plan<'_>) -> usize {
    let mut novelty = Novelty::new(plan.options.near_duplicate);
    let (mut seen, mut fresh) = (Vec::new(), 0);
    for hit in hits {
        hit.repeats = novelty.repeats(&hit.record.text).map(|n: usize| seen[n]);
        seen.push(hit.record.id);
        fresh += usize::from(hit.repeats.is_none());
        if fresh == plan.limit {
            break;
        }
    }
    fresh
}
