//! Compares the hits or the block of a case with its expectations.

use memory_engine::{Recall, RecallHit};

use crate::regression::{
    case::TestCase,
    expectation::RecordRule,
    observation::{Observation, ObservedBlock},
    outcome::{CaseFailure, FailureKind, excerpt},
};

/// Returns the expectations that are not met. Empty if the case passes.
pub(crate) fn evaluate(case: &TestCase, observation: &Observation) -> Vec<CaseFailure> {
    let mut failures: Vec<CaseFailure> = Vec::new();
    // Without this, a missing model would look like a worse ranking.
    for stage in observation.degraded() {
        let message = format!("the stage {} failed: {}; its hits may be missing", stage.stage, stage.reason);
        failures.push(CaseFailure::new(FailureKind::Degraded, message));
    }
    for (index, expectation) in case.expect.iter().enumerate() {
        let missing = match observation {
            Observation::Hits(recall) => missing_hit(expectation, case.limit, recall),
            Observation::Block(block) => missing_in_block(expectation, block),
        };
        if let Some(reason) = missing {
            let message = format!("{expectation} {reason}");
            let failure = CaseFailure::new(FailureKind::Expected, message);
            failures.push(CaseFailure { expectation: Some(index), ..failure });
        }
    }
    for prohibition in &case.forbid {
        let unwanted = match observation {
            Observation::Hits(recall) => unwanted_hit(prohibition, recall),
            Observation::Block(block) => unwanted_in_block(prohibition, block),
        };
        if let Some(reason) = unwanted {
            failures.push(CaseFailure::new(FailureKind::Forbidden, format!("{prohibition} {reason}")));
        }
    }
    if case.abstain
        && let Some(message) = broken_abstention(observation)
    {
        failures.push(CaseFailure::new(FailureKind::Abstain, message));
    }
    failures
}

/// Returns the reason why no hit meets the expectation; `None` if one does.
fn missing_hit(expectation: &RecordRule, limit: usize, recall: &Recall) -> Option<String> {
    let rank = expectation.rank.unwrap_or(limit);
    let needs_relevance = expectation.relevant.unwrap_or(true);
    let is_met = |hit: &RecallHit, place: usize| place <= rank && (hit.relevant || !needs_relevance);
    let matching: Vec<(&RecallHit, usize)> =
        recall.hits.iter().zip(1..).filter(|(hit, _)| expectation.pattern.matches(&hit.record)).collect();
    if matching.iter().any(|(hit, place)| is_met(hit, *place)) {
        return None;
    }
    let Some((hit, place)) = matching.first() else {
        let places = if rank == 1 { "the first hit".to_owned() } else { format!("among the first {rank} hits") };
        return Some(format!("is not {places}"));
    };
    let mut reasons = Vec::new();
    if *place > rank {
        reasons.push(format!("and must be among the first {rank}"));
    }
    if needs_relevance && !hit.relevant {
        reasons.push(format!("and is not relevant (relevance {:.2})", hit.relevance));
    }
    Some(format!("is hit {place}, {}", reasons.join(", ")))
}

/// Returns the place of a hit that breaks the rule, if there is one.
fn unwanted_hit(prohibition: &RecordRule, recall: &Recall) -> Option<String> {
    let only_relevant = prohibition.relevant.unwrap_or(false);
    let mut hits = recall.hits.iter().zip(1..);
    let (hit, place) =
        hits.find(|(hit, _)| prohibition.pattern.matches(&hit.record) && (hit.relevant || !only_relevant))?;
    let relevant = if hit.relevant { "relevant" } else { "not relevant" };
    Some(format!("is hit {place} ({relevant}, {:.2}): \"{}\"", hit.relevance, excerpt(&hit.record)))
}

fn missing_in_block(expectation: &RecordRule, block: &ObservedBlock) -> Option<String> {
    let is_there = expectation.pattern.matches_text(&block.text)
        || block.records.iter().any(|record| expectation.pattern.matches(record));
    (!is_there).then(|| "is not in the block".to_owned())
}

fn unwanted_in_block(prohibition: &RecordRule, block: &ObservedBlock) -> Option<String> {
    let record = block.records.iter().find(|record| prohibition.pattern.matches(record));
    if let Some(record) = record {
        return Some(format!("is in the block: {} \"{}\"", record.id, excerpt(record)));
    }
    prohibition.pattern.matches_text(&block.text).then(|| "is in the block".to_owned())
}

/// Returns what is relevant although nothing may be.
fn broken_abstention(observation: &Observation) -> Option<String> {
    match observation {
        Observation::Hits(recall) => {
            let (hit, place) = recall.hits.iter().zip(1..).find(|(hit, _)| hit.relevant)?;
            Some(format!("hit {place} is relevant ({:.2}): \"{}\"", hit.relevance, excerpt(&hit.record)))
        }
        Observation::Block(block) => {
            let record = block.recalled.first()?;
            Some(format!("{} is recalled: \"{}\"", record.id, excerpt(record)))
        }
    }
}

#[cfg(test)]
mod tests;
