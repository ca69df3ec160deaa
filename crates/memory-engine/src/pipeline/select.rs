//! The last stage: reads the records of the best candidates, lets the boosts have their say, and puts repetitions behind.

use memory_core::{ErrorKind, Record, RecordId, Result, Scope, Score};
use memory_embedder::Embedder;
use memory_reranker::Novelty;

use super::{
    candidate::Candidate,
    plan::Plan,
    policy::Policy,
    trace::{Stage, Trace},
};
use crate::{Arm, Found, MemoryEngine, RecallHit};

/// How many more records than hits are read at once, since boosts may bring later ones forward.
const READ: usize = 2;

/// The best hits, those that repeat a better one behind the others.
///
/// Records are read from the best candidate on until no other can get among the first `limit`, however it is boosted.
///
/// When a later part of the records cannot be read, or not in time, what was read before is given, and the trace says so.
pub(crate) async fn hits(
    engine: &MemoryEngine,
    scope: &Scope,
    plan: &Plan<'_>,
    trace: &mut Trace,
    candidates: Vec<Candidate>,
) -> Result<Vec<RecallHit>> {
    let policy = Policy::new(plan, engine.scene_policy());
    let most = policy.most();
    let mut read: Vec<RecallHit> = Vec::new();
    let mut rest = candidates.into_iter().peekable();
    loop {
        let batch: Vec<Candidate> = rest.by_ref().take(plan.limit.saturating_mul(READ).max(1)).collect();
        let ids: Vec<RecordId> = batch.iter().map(|c| c.id).collect();
        let records = match trace.limit(Stage::Fetch, engine.records().get(scope, &ids)).await {
            Err(e) if read.is_empty() && e.kind() != ErrorKind::Timeout => return Err(e),
            Err(e) => {
                trace.missing(Stage::Fetch, &e);
                break;
            }
            Ok(records) => records,
        };
        for (candidate, record) in batch.into_iter().zip(records) {
            let Some(record) = record.filter(|record| may_be_given(record, plan)) else { continue };
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

/// A record may have been deleted or revoked since its arm found it, and a neighbour need not pass the filter.
fn may_be_given(record: &Record, plan: &Plan<'_>) -> bool {
    record.is_indexed() && plan.filter.as_ref().is_none_or(|filter| filter.matches(record))
}

fn boosted(
    candidate: Candidate,
    record: Record,
    policy: &Policy<'_>,
    embedder: &dyn Embedder,
    plan: &Plan<'_>,
) -> RecallHit {
    let words = candidate.words;
    let relevant = candidate.found_by.iter().any(|found| fits(found, words, embedder, plan));
    let Candidate { score, found_by, reranked, .. } = candidate;
    let boosts = policy.boosts(&record);
    let score = boosts.iter().fold(score, |score, boost| score * boost.factor);
    RecallHit { record, score: Score::new(score), reranked, relevant, boosts, found_by, repeats: None }
}

/// Whether what an arm found fits the question by itself. The words have to: a day that it names is no subject. Nearness by an embedder that knows nothing about meaning proves
/// nothing, and neither does a neighbour.
fn fits(found: &Found, words: Option<f64>, embedder: &dyn Embedder, plan: &Plan<'_>) -> bool {
    let score = found.score.value();
    match found.arm {
        Arm::Keyword => words.unwrap_or(score) >= plan.options.relevant_words,
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
