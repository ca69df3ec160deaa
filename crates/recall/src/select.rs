//! The last stage: reads the records of the best candidates, lets the boosts have their say, and puts repetitions behind.

use memory_engine_core::{ErrorKind, Kind, Record, RecordId, Result, Scope, Score};
use memory_engine_embedder::Embedder;
use memory_engine_reranker::Novelty;

use super::{
    candidate::Candidate,
    plan::Plan,
    policy::Policy,
    trace::{Stage, Trace},
};
use crate::{Arm, MemoryEngine, RecallHit, RecallOptions};

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
        // As a rule the first are the best, and no more are read: boosts seldom bring later ones forward.
        let batch: Vec<Candidate> = rest.by_ref().take(plan.limit.max(1)).collect();
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
            read.push(boosted(candidate, record, &policy, plan));
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

fn boosted(candidate: Candidate, record: Record, policy: &Policy<'_>, plan: &Plan<'_>) -> RecallHit {
    let relevant = fits(&candidate, &record, plan.space.embedder.as_ref(), plan);
    let Candidate { score, found_by, reranked, .. } = candidate;
    let boosts = policy.boosts(&record);
    let score = boosts.iter().fold(score, |score, boost| score * boost.factor);
    RecallHit { record, score: Score::new(score), reranked, relevant, boosts, found_by, repeats: None }
}

/// Whether a record fits the question by itself. The words have to: a day that the question names is no subject. Nearness
/// by an embedder that knows nothing about meaning proves nothing, and neither does a neighbour.
fn fits(candidate: &Candidate, record: &Record, embedder: &dyn Embedder, plan: &Plan<'_>) -> bool {
    let by = |arm| candidate.found_by.iter().find(|found| found.arm == arm);
    let words = by(Arm::Keyword).map(|found| candidate.words.unwrap_or(found.score.value()));
    if words.is_none() && by(Arm::Vector).is_none() {
        return false;
    }
    let near = candidate.near.filter(|_| embedder.semantic_weight() > 0.0).map(|score| {
        let unrelated = embedder.unrelated(&plan.query.text, &record.text);
        (score - unrelated) / (1.0 - unrelated).max(f64::EPSILON)
    });
    is_evidence(words.unwrap_or(0.0), near, &plan.options)
}

/// Whether so large a part of the question in words, and so large a part of the way from unrelated to the same, are enough.
fn is_evidence(words: f64, near: Option<f64>, options: &RecallOptions) -> bool {
    let Some(near) = near else { return words >= options.relevant_words };
    // words / relevant_words · share + near / relevant_nearness ≥ 1, without a division by what may be zero.
    let (words, near) = (words * options.words_beside_nearness, near.max(0.0));
    words * options.relevant_nearness + near * options.relevant_words
        >= options.relevant_words * options.relevant_nearness
}

/// Marks the hits that repeat a better one, until enough others are found, and counts those.
fn told_apart(hits: &mut [RecallHit], plan: &Plan<'_>) -> usize {
    let mut novelty = Novelty::new(plan.options.near_duplicate);
    let (mut seen, mut fresh) = (Vec::new(), 0);
    for hit in hits {
        // A part repeats its whole, and the whole each of its parts.
        let related = seen.iter().find(|(id, whole)| is_part(&hit.record, *id) || *whole == Some(hit.record.id));
        let repeated = novelty.repeats(&hit.record.text).map(|n: usize| seen[n].0);
        hit.repeats = related.map(|(id, _)| *id).or(repeated);
        seen.push((hit.record.id, whole(&hit.record)));
        fresh += usize::from(hit.repeats.is_none());
        if fresh == plan.limit {
            break;
        }
    }
    fresh
}

/// What a part of a long turn is a part of.
fn whole(record: &Record) -> Option<RecordId> {
    record.derived_from.first().copied().filter(|_| record.kind == Kind::CHUNK)
}

fn is_part(record: &Record, of: RecordId) -> bool {
    whole(record) == Some(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_nearness_add_up_and_words_alone_decide_where_nearness_says_nothing() {
        let options = RecallOptions::default();
        let (words, near) = (options.relevant_words, options.relevant_nearness);
        let is = |words: f64, near: Option<f64>| is_evidence(words, near, &options);
        assert!(is(words, None) && !is(words - 0.01, None));
        assert!(is(0.0, Some(near)) && !is(0.0, Some(near - 0.01)));
        assert!(!is(words, Some(0.0)), "a word in common is little, when the meaning is another one");
        assert!(is(words, Some(near * 0.76)) && !is(words, Some(near * 0.74)));
        assert!(
            !is(words, Some(-3.0)) && is(4.0 * words, Some(-3.0)),
            "farther than unrelated is no worse than unrelated"
        );
    }
}
