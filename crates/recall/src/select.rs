//! Ranks, reranks, boosts and diversifies the candidates.

use std::{cmp::Ordering, time::Duration};

use memory_engine_context::{asks_for_questions, is_question};
use memory_engine_core::{Kind, Record, RecordId, Result, Score, Timestamp};
use memory_engine_indexing::{message_of, repetitions};
use memory_engine_reranker::diversify;

use crate::{
    boosts::Boosts,
    candidate::Candidate,
    candidates::CandidateList,
    hit::RecallHit,
    rank::{Content, RankedCandidate},
    ranking_step::{RankingStep, record_ranks},
    run::RecallRun,
};

/// The time within which a turn counts equal messages.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

impl RecallRun<'_> {
    /// Returns the best hits, best first. The hits of one retriever alone stay in its order, apart from boosts.
    ///
    /// # Errors
    /// `Timeout`, or the store's error, if no record could be read.
    pub(crate) async fn select(&mut self, list: CandidateList) -> Result<Vec<RecallHit>> {
        let mut ranked = self.rank(list).await?;
        if self.plan.ranks_by_features() {
            self.rerank_best(&mut ranked).await;
        }
        let hits = self.select_ranked(ranked);
        let hits = self.with_topic_hits(hits).await;
        let mut hits = self.with_updates(hits).await;
        if self.plan.traces_ranks && self.plan.ranks_by_features() {
            record_ranks(RankingStep::Selected, hits.iter_mut());
        }
        Ok(hits)
    }

    /// Boosts the candidates and reorders the best for diversity.
    fn select_ranked(&self, ranked: Vec<RankedCandidate>) -> Vec<RecallHit> {
        let boosts = Boosts::new(&self.plan, &self.parts.scene_policy);
        let min_relevance = self.plan.options.min_relevance;
        let mut hits: Vec<_> = ranked.into_iter().map(|ranked| into_hit(ranked, &boosts, min_relevance)).collect();
        remove_counted(&mut hits);
        hits.sort_by(|(a, _), (b, _)| best_first(a, b));
        if self.plan.ranks_by_features() && !asks_for_questions(&self.plan.query.text) {
            move_questions_back(&mut hits, self.plan.limit, min_relevance);
        }
        if self.plan.traces_ranks {
            record_ranks(RankingStep::Boosted, hits.iter_mut().map(|(hit, _)| hit));
        }
        if !self.plan.ranks_by_features() {
            return hits.into_iter().map(|(hit, _)| hit).take(self.plan.limit).collect();
        }
        let scores: Vec<f64> = hits.iter().map(|(hit, _)| hit.score.value()).collect();
        let repeats_part = |a: usize, b: usize| is_part_of_other(&hits[a].0.record, &hits[b].0.record);
        let strength = self.plan.options.diversity;
        let order = diversify(&scores, self.plan.limit, |better, other| {
            if hits[other].0.record.pinned {
                return 0.0;
            }
            if repeats_part(better, other) { 1.0 } else { strength * hits[better].1.similarity(&hits[other].1) }
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
}

/// Removes the turns whose message another hit counts, so that a repeated message is found once.
fn remove_counted(hits: &mut Vec<(RecallHit, Content)>) {
    let counting = hits.iter().map(|(hit, _)| &hit.record).filter(|record| repetitions(record).is_some());
    let counting: Vec<_> = counting.map(|record| (record.id, record.occurred_at, message_of(record))).collect();
    if counting.is_empty() {
        return;
    }
    hits.retain(|(hit, _)| {
        let record = &hit.record;
        let is_counted_by = |(id, at, counted): &(RecordId, Timestamp, _)| {
            *id != record.id
                && at.since(record.occurred_at).max(record.occurred_at.since(*at)) < DAY
                && *counted == message_of(record)
        };
        record.kind != Kind::TURN || repetitions(record).is_some() || !counting.iter().any(is_counted_by)
    });
}

/// Moves turns that only ask behind the last possible answer among the first `limit` other hits: an earlier question is
/// often the most similar record, but no answer. Their scores are lowered to that of this answer. A possible answer has
/// at least half of `min_relevance`, because it shares fewer words with a query than the same question does.
fn move_questions_back(hits: &mut Vec<(RecallHit, Content)>, limit: usize, min_relevance: f64) {
    let mut is_question_at = Vec::new();
    let mut others = 0;
    let mut last_answer = None;
    for (index, (hit, _)) in hits.iter().enumerate() {
        let asks = hit.record.kind == Kind::TURN && !hit.record.pinned && is_question(&hit.record.text);
        is_question_at.push(asks);
        if asks {
            continue;
        }
        if hit.relevance >= min_relevance / 2.0 {
            last_answer = Some(index);
        }
        others += 1;
        if others == limit {
            break;
        }
    }
    let Some(last_answer) = last_answer else { return };
    let lowest_score = hits[last_answer].0.score;
    let below = hits.split_off(last_answer + 1);
    let (mut answers, mut questions) = (Vec::with_capacity(last_answer + 1 + below.len()), Vec::new());
    for ((mut hit, content), asks) in std::mem::take(hits).into_iter().zip(is_question_at) {
        if asks {
            hit.score = hit.score.min(lowest_score);
            questions.push((hit, content));
        } else {
            answers.push((hit, content));
        }
    }
    answers.extend(questions.into_iter().chain(below));
    *hits = answers;
}

fn best_first(a: &RecallHit, b: &RecallHit) -> Ordering {
    b.score.cmp(&a.score).then(a.record.id.cmp(&b.record.id))
}

/// Makes a hit of a candidate: multiplies its score by its boosts. They do not change its relevance.
fn into_hit(ranked: RankedCandidate, boosts: &Boosts<'_>, min_relevance: f64) -> (RecallHit, Content) {
    let RankedCandidate { candidate, record, content, features, relevance } = ranked;
    let Candidate { score, found_by, reranked, ranks, .. } = candidate;
    let boosts = boosts.of(&record);
    let score = Score::new(boosts.iter().fold(score, |score, boost| score * boost.factor));
    let relevant = relevance >= min_relevance;
    let hit = RecallHit {
        record,
        score,
        reranked,
        relevant,
        relevance,
        features,
        boosts,
        found_by,
        repeats: None,
        outdated: false,
        ranks,
    };
    (hit, content)
}

/// Returns true if one record is a chunk of the other: a chunk repeats its turn, and a turn its chunks.
fn is_part_of_other(a: &Record, b: &Record) -> bool {
    whole(a) == Some(b.id) || whole(b) == Some(a.id)
}

/// Returns the turn that a chunk is a part of.
fn whole(record: &Record) -> Option<RecordId> {
    record.derived_from.first().copied().filter(|_| record.kind == Kind::CHUNK)
}
