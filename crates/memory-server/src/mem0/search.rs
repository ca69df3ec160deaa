//! Searches memories.

use memory_engine::{RecallHit, RecallQuery, Record, Timestamp, recall::Retriever};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{
    condition::SearchArea,
    error::Mem0Error,
    params::{Dialect, ParamGroup},
    row::{MemoryRow, Score, ScoreBreakdown, ScoreDetails},
    service::Mem0,
    time::moment,
};

/// The default minimum score.
pub(super) const DEFAULT_THRESHOLD: f64 = 0.1;
/// Maximum number of memories that a search returns.
const MAX_LIMIT: usize = 1000;
/// Factor of candidates fetched if some may not fulfil the condition.
const OVERFETCH: usize = 5;
/// Maximum number of candidates.
const MAX_CANDIDATES: usize = 5000;

/// A checked query.
#[derive(Debug, Clone)]
pub(super) struct SearchQuery {
    pub(super) text: String,
    pub(super) limit: usize,
    /// Minimum score, 0 to 1. With 0 all hits are returned.
    pub(super) threshold: f64,
    /// The time of the query, if not now.
    pub(super) asked_at: Option<Timestamp>,
    /// Adds the parts of each score.
    pub(super) explain: bool,
}

/// A hit.
#[derive(Debug, Clone)]
pub(super) struct ScoredMemory {
    pub(super) record: Record,
    /// The relevance, 0 to 1.
    pub(super) score: f64,
    hit: RecallHit,
    keyword: f64,
    semantic: f64,
}

/// The query of a search.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["query"]))]
pub(super) struct SearchParams {
    /// The text to search for.
    #[schemars(required)]
    query: Option<String>,
    /// Maximum number of memories, from 0 to 1000. Default: 20, on the platform 10.
    top_k: Option<i64>,
    /// Old name of `top_k`.
    limit: Option<i64>,
    /// Minimum score, from 0 to 1. Default: 0.1.
    threshold: Option<f64>,
    /// Adds the parts of each score. Default: false.
    explain: Option<bool>,
    /// The time of the query, if not now.
    reference_date: Option<Value>,
}

impl ParamGroup for SearchParams {
    const REQUIRED: &'static [&'static str] = &["query"];
}

impl SearchParams {
    /// Checks the query.
    ///
    /// # Errors
    /// 400 for a blank query, an invalid date, and a number out of range.
    pub(super) fn checked(self, default_limit: usize) -> Result<SearchQuery, Mem0Error> {
        let invalid_date = || Mem0Error::bad_request("reference_date is a time such as 2026-03-02T20:15:00Z, or a day");
        let asked_at = self.reference_date.map(|value| moment(&value).ok_or_else(invalid_date)).transpose()?;
        let text = self.query.unwrap_or_default();
        if text.trim().is_empty() {
            return Err(Mem0Error::bad_request("query is blank; it needs words to search for"));
        }
        let threshold = self.threshold.unwrap_or(DEFAULT_THRESHOLD);
        if !(0.0..=1.0).contains(&threshold) {
            return Err(Mem0Error::bad_request("threshold lies between 0 and 1"));
        }
        let limit = match self.top_k.or(self.limit).map(usize::try_from) {
            None => default_limit,
            Some(Ok(limit)) if limit <= MAX_LIMIT => limit,
            Some(_) => return Err(Mem0Error::bad_request(format!("top_k lies between 0 and {MAX_LIMIT}"))),
        };
        Ok(SearchQuery { text, limit, threshold, asked_at, explain: self.explain.unwrap_or(false) })
    }
}

impl Mem0 {
    /// The memories in some places that fit a question, best first.
    ///
    /// The engine's scores compare within one recall only. Here the best one gets what speaks for it by itself: the
    /// part of the question's words that it holds, or how far it is on the way from unrelated to the same, whichever
    /// is more; and the others what they have of its score. So the order is the engine's, and a score says whether
    /// anything fits at all.
    pub(super) async fn search(
        &self,
        areas: &[SearchArea],
        query: &SearchQuery,
    ) -> Result<Vec<ScoredMemory>, Mem0Error> {
        let mut found = Vec::new();
        for area in areas {
            found.extend(self.search_area(area, query).await?);
        }
        found.sort_by(|a: &ScoredMemory, b: &ScoredMemory| {
            b.score.total_cmp(&a.score).then(a.record.id.cmp(&b.record.id))
        });
        found.retain(|hit| hit.score >= query.threshold);
        found.truncate(query.limit);
        Ok(found)
    }

    async fn search_area(&self, area: &SearchArea, search: &SearchQuery) -> Result<Vec<ScoredMemory>, Mem0Error> {
        if search.limit == 0 {
            return Ok(Vec::new());
        }
        let spare = if area.condition.is_some() { OVERFETCH } else { 1 };
        let mut limit = (search.limit * spare).min(MAX_CANDIDATES);
        loop {
            let mut options = *self.engine.admin().recall_options();
            options.max_candidates = options.max_candidates.max(limit);
            let mut query =
                RecallQuery::new(&search.text).with_filter(area.filter.clone()).with_limit(limit).with_options(options);
            if let Some(time) = search.asked_at {
                query = query.asked_at(time, jiff::tz::TimeZone::UTC);
            }
            let hits = self.engine.recall(&area.scope, query).await?.hits;
            let all = hits.len() < limit;
            let matches: Vec<ScoredMemory> = self.scored(&search.text, hits);
            let matches: Vec<ScoredMemory> = matches.into_iter().filter(|hit| area.holds(&hit.record)).collect();
            if all || limit == MAX_CANDIDATES || matches.len() >= search.limit {
                return Ok(matches);
            }
            limit = (limit * OVERFETCH).min(MAX_CANDIDATES);
        }
    }

    fn scored(&self, question: &str, hits: Vec<RecallHit>) -> Vec<ScoredMemory> {
        let embedder = self.engine.embedder();
        let knows_meaning = embedder.semantic_weight() > 0.0;
        let by = |hit: &RecallHit, arm: Retriever| {
            hit.found_by.iter().find(|found| found.retriever == arm).map(|f| f.score.value())
        };
        let best = hits.iter().map(|hit| hit.score.value()).fold(0.0, f64::max);
        let mut matches: Vec<ScoredMemory> = Vec::with_capacity(hits.len());
        for hit in hits {
            let words = by(&hit, Retriever::Keyword).unwrap_or(0.0).clamp(0.0, 1.0);
            let near = by(&hit, Retriever::Vector).filter(|_| knows_meaning).map_or(0.0, |near| {
                let unrelated = embedder.unrelated(question, &hit.record.text);
                ((near - unrelated) / (1.0 - unrelated).max(f64::EPSILON)).clamp(0.0, 1.0)
            });
            let share = if best > 0.0 { (hit.score.value() / best).clamp(0.0, 1.0) } else { 0.0 };
            matches.push(ScoredMemory {
                record: hit.record.clone(),
                score: share,
                keyword: words,
                semantic: near,
                hit,
            });
        }
        let most = matches.iter().map(|hit| hit.keyword.max(hit.semantic)).fold(0.0, f64::max);
        matches.iter_mut().for_each(|hit| hit.score *= most);
        matches
    }
}

impl ScoredMemory {
    /// The memory with its score, and with the parts of the score if the query asks for them.
    pub(super) fn row(&self, dialect: Dialect, query: &SearchQuery) -> MemoryRow {
        let graph = self.hit.found_by.iter().find(|found| found.retriever == Retriever::Graph);
        let (semantic, bm25) = (rounded(self.semantic), rounded(self.keyword));
        let entity = rounded(graph.map_or(0.0, |found| found.score.value()));
        let breakdown =
            (query.explain && dialect == Dialect::Platform).then_some(ScoreBreakdown { semantic, bm25, entity });
        let details = query.explain.then(|| ScoreDetails {
            semantic_score: semantic,
            bm25_score: bm25,
            entity_boost: entity,
            raw_score: rounded(self.hit.score.value()),
            max_possible_score: 1.0,
            final_score: rounded(self.score),
            threshold: query.threshold,
            found_by: self.hit.found_by.iter().map(|found| found.retriever.as_str()).collect(),
            relevant: self.hit.relevant,
        });
        let score = Score { score: Some(rounded(self.score)), score_breakdown: breakdown, score_details: details };
        MemoryRow::new(&self.record, dialect).with_score(score)
    }
}

/// Rounds to four places.
fn rounded(score: f64) -> f64 {
    (score * 1e4).round() / 1e4
}
