//! The last stage: reads the records of the best candidates, applies boosts, and moves near-duplicates to the end.

use memory_engine_core::{ErrorKind, Kind, Record, RecordId, Result, Score};
use memory_engine_embedder::Embedder;
use memory_engine_reranker::Novelty;

use crate::{
    boosts::Boosts,
    candidate::Candidate,
    hit::{RecallHit, Retriever},
    options::RecallOptions,
    plan::Plan,
    run::RecallRun,
    trace::Stage,
};

impl RecallRun<'_> {
    /// Returns the best hits, near-duplicates of a better one last.
    ///
    /// Records are read from the best candidate on until no other can get among the first `limit`, however it is
    /// boosted. If a later batch cannot be read, or not in time, the trace says so, and the hits read before are
    /// returned.
    ///
    /// # Errors
    /// `Timeout`, or the store's error, if no record could be read.
    pub(crate) async fn select(&mut self, candidates: Vec<Candidate>) -> Result<Vec<RecallHit>> {
        let boosts = Boosts::new(&self.plan, &self.parts.scene_policy);
        let max_factor = boosts.max_factor();
        let limit = self.plan.limit;
        let mut read: Vec<RecallHit> = Vec::new();
        let mut rest = candidates.into_iter().peekable();
        while rest.peek().is_some() {
            // Boosts seldom bring later candidates forward: one batch of `limit` is mostly enough.
            let batch: Vec<Candidate> = rest.by_ref().take(limit.max(1)).collect();
            let ids: Vec<RecordId> = batch.iter().map(|c| c.id).collect();
            let records = match self.trace.limit(Stage::Fetch, self.scope.get(&self.parts.store, &ids)).await {
                Err(e) if read.is_empty() && e.kind() == ErrorKind::Timeout => {
                    return Err(self.trace.timeout("no record of a hit was read"));
                }
                Err(e) if read.is_empty() => return Err(e),
                Err(e) => {
                    self.trace.missing(Stage::Fetch, &e);
                    break;
                }
                Ok(records) => records,
            };
            for (candidate, record) in batch.into_iter().zip(records) {
                let Some(record) = record.filter(|record| may_be_returned(record, &self.plan)) else { continue };
                read.push(boosted(candidate, record, &boosts, &self.plan));
            }
            read.sort_by(|a, b| b.score.cmp(&a.score).then(a.record.id.cmp(&b.record.id)));
            let Some(next) = rest.peek() else { break };
            let upper_bound = Score::new(next.score * max_factor);
            let certain = read.partition_point(|hit| hit.score >= upper_bound);
            if mark_duplicates(&mut read[..certain], &self.plan) >= limit {
                break;
            }
        }
        mark_duplicates(&mut read, &self.plan);
        let (mut fresh, mut repeated): (Vec<_>, Vec<_>) = read.into_iter().partition(|hit| hit.repeats.is_none());
        fresh.append(&mut repeated);
        fresh.truncate(limit);
        Ok(fresh)
    }
}

/// A record may have been deleted or revoked since a retriever found it, and a neighbor need not pass the filter.
fn may_be_returned(record: &Record, plan: &Plan<'_>) -> bool {
    record.is_indexed() && plan.filter.as_ref().is_none_or(|filter| filter.matches(record))
}

fn boosted(candidate: Candidate, record: Record, boosts: &Boosts<'_>, plan: &Plan<'_>) -> RecallHit {
    let relevant = is_relevant(&candidate, &record, plan.backend.embedder.as_ref(), plan);
    let Candidate { score, found_by, reranked, .. } = candidate;
    let boosts = boosts.of(&record);
    let score = boosts.iter().fold(score, |score, boost| score * boost.factor);
    RecallHit { record, score: Score::new(score), reranked, relevant, boosts, found_by, repeats: None }
}

/// Returns true if a record answers the query by itself. Dates do not count as words: a day that the query names is no
/// subject. Similarity counts only if the embedder has a semantic weight, and a neighbor does not count.
fn is_relevant(candidate: &Candidate, record: &Record, embedder: &dyn Embedder, plan: &Plan<'_>) -> bool {
    let found_by = |arm| candidate.found_by.iter().find(|found| found.retriever == arm);
    let words = found_by(Retriever::Keyword).map(|found| candidate.word_score.unwrap_or(found.score.value()));
    if words.is_none() && found_by(Retriever::Vector).is_none() {
        return false;
    }
    let similarity = candidate.similarity.filter(|_| embedder.semantic_weight() > 0.0).map(|score| {
        let unrelated = embedder.unrelated(&plan.query.text, &record.text);
        (score - unrelated) / (1.0 - unrelated).max(f64::EPSILON)
    });
    is_evidence(words.unwrap_or(0.0), similarity, &plan.options)
}

/// Returns true if the word score, or the similarity (0: unrelated, 1: the same), or both together reach their
/// thresholds.
fn is_evidence(words: f64, similarity: Option<f64>, options: &RecallOptions) -> bool {
    let Some(similarity) = similarity else { return words >= options.min_keyword_score };
    // words / relevant_words · share + similarity / relevant_nearness ≥ 1, without a division by what may be zero.
    let weighted_words = words * options.keyword_share;
    weighted_words * options.min_similarity + similarity.max(0.0) * options.min_keyword_score
        >= options.min_keyword_score * options.min_similarity
}

/// Marks the hits that repeat a better one until `plan.limit` others are found. Returns the number of those.
fn mark_duplicates(hits: &mut [RecallHit], plan: &Plan<'_>) -> usize {
    let mut novelty = Novelty::new(plan.options.duplicate_similarity);
    let mut seen = Vec::new();
    let mut fresh = 0;
    for hit in hits {
        // A chunk repeats its turn, and the turn repeats each of its chunks.
        let related = seen.iter().find(|(id, whole)| is_part(&hit.record, *id) || *whole == Some(hit.record.id));
        let repeated = novelty.repeats(&hit.record.text).map(|n: usize| seen[n].0);
        hit.repeats = related.map(|(id, _)| *id).or(repeated);
        seen.push((hit.record.id, whole(&hit.record)));
        if hit.repeats.is_none() {
            fresh += 1;
        }
        if fresh == plan.limit {
            break;
        }
    }
    fresh
}

/// Returns the turn that a chunk is a part of.
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
        let (words, near) = (options.min_keyword_score, options.min_similarity);
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
