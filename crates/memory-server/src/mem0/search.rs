//! Memories that fit a question.

use memory_engine::{Arm, RecallHit, RecallQuery, Record, Timestamp};
use serde_json::{Map, Value, json};

use super::{Mem0, condition::Place, failure::Failure, row};

/// From which score on a memory is given, unless the request says otherwise.
pub(super) const THRESHOLD: f64 = 0.1;
/// How many more are looked at where some may not be meant.
const SPARE: usize = 5;
/// The most that are ever looked at.
const MOST: usize = 5000;

/// What is searched for.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) text: String,
    pub(super) limit: usize,
    /// The least score, 0 to 1; with 0 everything that was found is given.
    pub(super) threshold: f64,
    /// When it is asked, if not now.
    pub(super) asked_at: Option<Timestamp>,
}

/// A memory that was found.
#[derive(Debug, Clone)]
pub(super) struct Match {
    pub(super) record: Record,
    /// How well it fits, 0 to 1.
    pub(super) score: f64,
    hit: RecallHit,
    words: f64,
    nearness: f64,
}

impl Mem0 {
    /// The memories in some places that fit a question, best first.
    ///
    /// The engine's scores compare within one recall only. Here the best one gets what speaks for it by itself: the part of the
    /// question's words that it holds, or how far it is on the way from unrelated to the same, whichever is more; and the others
    /// what they have of its score. So the order is the engine's, and a score says whether anything fits at all.
    pub(super) async fn search(&self, places: &[Place], question: &Question) -> Result<Vec<Match>, Failure> {
        let mut found = Vec::new();
        for place in places {
            found.extend(self.search_place(place, question).await?);
        }
        found.sort_by(|a: &Match, b: &Match| b.score.total_cmp(&a.score).then(a.record.id.cmp(&b.record.id)));
        found.retain(|hit| hit.score >= question.threshold);
        found.truncate(question.limit);
        Ok(found)
    }

    async fn search_place(&self, place: &Place, question: &Question) -> Result<Vec<Match>, Failure> {
        if question.limit == 0 {
            return Ok(Vec::new());
        }
        let spare = if place.condition.is_some() { SPARE } else { 1 };
        let mut limit = (question.limit * spare).min(MOST);
        loop {
            let mut options = *self.engine.options();
            options.pool = options.pool.max(limit);
            let mut query = RecallQuery::new(&question.text)
                .with_filter(place.filter.clone())
                .with_limit(limit)
                .with_options(options);
            if let Some(time) = question.asked_at {
                query = query.asked_at(time, jiff::tz::TimeZone::UTC);
            }
            let hits = self.engine.recall(&place.scope, query).await?.hits;
            let all = hits.len() < limit;
            let matches: Vec<Match> = self.scored(&question.text, hits);
            let matches: Vec<Match> = matches.into_iter().filter(|hit| place.holds(&hit.record)).collect();
            if all || limit == MOST || matches.len() >= question.limit {
                return Ok(matches);
            }
            limit = (limit * SPARE).min(MOST);
        }
    }

    fn scored(&self, question: &str, hits: Vec<RecallHit>) -> Vec<Match> {
        let embedder = self.engine.embedder();
        let knows_meaning = embedder.semantic_weight() > 0.0;
        let by =
            |hit: &RecallHit, arm: Arm| hit.found_by.iter().find(|found| found.arm == arm).map(|f| f.score.value());
        let best = hits.iter().map(|hit| hit.score.value()).fold(0.0, f64::max);
        let mut matches: Vec<Match> = Vec::with_capacity(hits.len());
        for hit in hits {
            let words = by(&hit, Arm::Keyword).unwrap_or(0.0).clamp(0.0, 1.0);
            let near = by(&hit, Arm::Vector).filter(|_| knows_meaning).map_or(0.0, |near| {
                let unrelated = embedder.unrelated(question, &hit.record.text);
                ((near - unrelated) / (1.0 - unrelated).max(f64::EPSILON)).clamp(0.0, 1.0)
            });
            let share = if best > 0.0 { (hit.score.value() / best).clamp(0.0, 1.0) } else { 0.0 };
            matches.push(Match { record: hit.record.clone(), score: share, words, nearness: near, hit });
        }
        let most = matches.iter().map(|hit| hit.words.max(hit.nearness)).fold(0.0, f64::max);
        matches.iter_mut().for_each(|hit| hit.score *= most);
        matches
    }
}

impl Match {
    /// The memory with its score, and with what it is made of, where that is asked for.
    pub(super) fn row(&self, platform: bool, explain: bool, threshold: f64) -> Map<String, Value> {
        let mut row = row::row(&self.record, platform);
        row.insert("score".into(), json!(rounded(self.score)));
        let graph =
            self.hit.found_by.iter().find(|found| found.arm == Arm::Graph).map_or(0.0, |found| found.score.value());
        if explain && platform {
            let parts = json!({
                "semantic": rounded(self.nearness),
                "bm25": rounded(self.words),
                "entity": rounded(graph),
            });
            row.insert("score_breakdown".into(), parts);
        }
        if explain {
            let arms: Vec<&str> = self.hit.found_by.iter().map(|found| found.arm.as_str()).collect();
            let details = json!({
                "semantic_score": rounded(self.nearness),
                "bm25_score": rounded(self.words),
                "entity_boost": rounded(graph),
                "raw_score": rounded(self.hit.score.value()),
                "max_possible_score": 1.0,
                "final_score": rounded(self.score),
                "threshold": threshold,
                "found_by": arms,
                "relevant": self.hit.relevant,
            });
            row.insert("score_details".into(), details);
        }
        row
    }
}

/// To four places: more of them say nothing.
fn rounded(score: f64) -> f64 {
    (score * 1e4).round() / 1e4
}
