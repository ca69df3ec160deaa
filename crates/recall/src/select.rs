//! The last stage: applies boosts, and moves hits that repeat a better one back.

use std::cmp::Ordering;

use memory_engine_core::{ErrorKind, Kind, Record, RecordId, Result, Score};
use memory_engine_embedder::Embedder;
use memory_engine_reranker::diversify;

use crate::{
    boosts::Boosts,
    candidate::Candidate,
    candidates::CandidateList,
    hit::{FeatureScore, RecallHit, Retriever},
    options::RecallOptions,
    plan::Plan,
    query::Retrievers,
    rank::RankedCandidate,
    run::RecallRun,
    trace::Stage,
};

impl RecallRun<'_> {
    /// Returns the best hits, best first.
    ///
    /// # Errors
    /// `Timeout`, or the store's error, if no record could be read.
    pub(crate) async fn select(&mut self, list: CandidateList) -> Result<Vec<RecallHit>> {
        if self.plan.query.retrievers != Retrievers::All {
            return self.select_unranked(list.candidates).await;
        }
        let mut ranked = self.rank(list).await?;
        self.rerank_best(&mut ranked).await;
        Ok(self.select_ranked(ranked))
    }

    /// Boosts the candidates and reorders the best for diversity.
    fn select_ranked(&self, ranked: Vec<RankedCandidate>) -> Vec<RecallHit> {
        let boosts = Boosts::new(&self.plan, &self.parts.scene_policy);
        let mut hits = Vec::with_capacity(ranked.len());
        for RankedCandidate { candidate, record, terms, features } in ranked {
            hits.push((hit(candidate, record, features, &boosts, &self.plan), terms));
        }
        hits.sort_by(|(a, _), (b, _)| best_first(a, b));
        let scores: Vec<f64> = hits.iter().map(|(hit, _)| hit.score.value()).collect();
        let repeats_part = |a: usize, b: usize| is_part_of_other(&hits[a].0.record, &hits[b].0.record);
        let strength = self.plan.options.diversity;
        let order = diversify(&scores, self.plan.limit, |a, b| {
            if repeats_part(a, b) { 1.0 } else { strength * hits[a].1.set.similarity(&hits[b].1.set) }
        });
        let ids: Vec<RecordId> = hits.iter().map(|(hit, _)| hit.record.id).collect();
        let mut hits: Vec<Option<RecallHit>> = hits.into_iter().map(|(hit, _)| Some(hit)).collect();
        let placed = order.into_iter().filter_map(|place| {
            let mut hit = hits[place.index].take()?;
            hit.score = Score::new(place.score);
            hit.repeats = place.repeats.map(|index| ids[index]);
            Some(hit)
        });
        placed.collect()
    }

    /// Boosts the candidates of one retriever. Records are read from the best candidate on until no other can get among
    /// the first `limit`, however it is boosted. If a later batch cannot be read, or not in time, the trace says so,
    /// and the hits read before are returned.
    async fn select_unranked(&mut self, candidates: Vec<Candidate>) -> Result<Vec<RecallHit>> {
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
                let Some(record) = record.filter(|record| self.plan.admits(record)) else { continue };
                read.push(hit(candidate, record, Vec::new(), &boosts, &self.plan));
            }
            read.sort_by(best_first);
            let Some(next) = rest.peek() else { break };
            let upper_bound = Score::new(next.score * max_factor);
            if read.partition_point(|hit| hit.score >= upper_bound) >= limit {
                break;
            }
        }
        read.truncate(limit);
        Ok(read)
    }
}

fn best_first(a: &RecallHit, b: &RecallHit) -> Ordering {
    b.score.cmp(&a.score).then(a.record.id.cmp(&b.record.id))
}

/// Makes a hit of a candidate: decides its relevance, and multiplies its score by its boosts.
fn hit(
    candidate: Candidate,
    record: Record,
    features: Vec<FeatureScore>,
    boosts: &Boosts<'_>,
    plan: &Plan<'_>,
) -> RecallHit {
    let relevant = is_relevant(&candidate, &record, plan.backend.embedder.as_ref(), plan);
    let Candidate { score, found_by, reranked, .. } = candidate;
    let boosts = boosts.of(&record);
    let score = boosts.iter().fold(score, |score, boost| score * boost.factor);
    RecallHit { record, score: Score::new(score), reranked, relevant, features, boosts, found_by, repeats: None }
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

/// Returns true if one record is a chunk of the other: a chunk repeats its turn, and a turn its chunks.
fn is_part_of_other(a: &Record, b: &Record) -> bool {
    whole(a) == Some(b.id) || whole(b) == Some(a.id)
}

/// Returns the turn that a chunk is a part of.
fn whole(record: &Record) -> Option<RecordId> {
    record.derived_from.first().copied().filter(|_| record.kind == Kind::CHUNK)
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
