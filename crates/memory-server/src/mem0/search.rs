//! Searches memories.

use std::{collections::BTreeMap, time::Duration};

use jiff::tz::TimeZone;
use memory_engine::{
    Kind, RecallHit, RecallQuery, Record, RecordId, Timestamp,
    context::{MAX_CONTEXT_CHARS, MAX_CONTEXT_MESSAGES, contextual_search_text, is_question, weak_question},
    recall::{QueryForm, Retriever},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{
    condition::SearchArea,
    error::Mem0Error,
    messages::{Dialogue, Mem0Message},
    params::{Mem0Api, ParamGroup},
    row::{MemoryRow, ScoreBreakdown, ScoreDetails, SearchScore},
    service::Mem0,
    time::{moment, zone},
};
use crate::config::IncludedTurns;

/// Default minimum score of a search.
pub(super) const DEFAULT_THRESHOLD: f64 = 0.1;
/// Maximum number of memories that a search returns.
const MAX_LIMIT: usize = 1000;
/// Factor by which a search fetches more hits than requested if some may not fulfil the condition.
const OVERFETCH_FACTOR: usize = 5;
/// Maximum number of hits that a search fetches from one area.
const MAX_CANDIDATES: usize = 5000;
/// Factor of the minimum score of a search with dialogue: no memory matches both the dialogue and the query well.
const CONTEXT_THRESHOLD_FACTOR: f64 = 0.5;
/// The label of the question in a query with the dialogue before it.
const QUESTION_LABEL: &str = "User question: ";
/// Number of characters of a word that are compared: the forms of a word have the same beginning.
const STEM_CHARS: usize = 4;

/// A checked query.
#[derive(Debug, Clone)]
pub(super) struct SearchQuery {
    pub(super) text: String,
    /// Maximum number of hits.
    pub(super) limit: usize,
    /// Minimum score, 0 to 1. With 0 all hits are returned.
    pub(super) threshold: f64,
    /// The time of the query, if not now.
    pub(super) asked_at: Option<Timestamp>,
    /// The time zone of the query, if the time of the query names one.
    pub(super) zone: Option<TimeZone>,
    /// Adds the parts of each score.
    pub(super) explain: bool,
    /// The messages before the query, oldest first.
    dialogue: Vec<Mem0Message>,
    /// True if the text contains the dialogue.
    contains_dialogue: bool,
    /// False if the client has put the dialogue into the text: its topics are not those of the question.
    raises_topics: bool,
}

/// A hit with its score for mem0's clients.
#[derive(Debug, Clone)]
pub(super) struct ScoredMemory {
    /// The relevance, 0 to 1.
    pub(super) score: f64,
    hit: RecallHit,
    /// The score of the keyword retriever, 0 to 1.
    keyword: f64,
    /// The similarity to the query on a scale from unrelated (0) to identical (1).
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
    /// Maximum number of memories, from 1 to 1000. Default: 20, on the platform 10.
    #[schemars(range(min = 1, max = MAX_LIMIT))]
    top_k: Option<i64>,
    /// Old name of `top_k`.
    #[schemars(range(min = 1, max = MAX_LIMIT))]
    limit: Option<i64>,
    /// Minimum score, from 0 to 1. Default: 0.1.
    #[schemars(range(min = 0, max = 1))]
    threshold: Option<f64>,
    /// Adds the parts of each score. Default: false.
    explain: Option<bool>,
    /// The time of the query, if not now.
    reference_date: Option<Value>,
}

impl SearchQuery {
    /// Returns true if the record is a message of the dialogue, which the caller already has.
    fn is_in_dialogue(&self, record: &Record) -> bool {
        self.dialogue.iter().any(|message| message.text == record.text)
    }
}

impl ParamGroup for SearchParams {
    const REQUIRED: &'static [&'static str] = &["query"];
}

impl SearchParams {
    /// Checks the parameters.
    ///
    /// # Errors
    /// 400 for a blank query, an invalid date, and a number out of range.
    pub(super) fn into_query(self, default_limit: usize, dialogue: Dialogue) -> Result<SearchQuery, Mem0Error> {
        let invalid_date =
            || Mem0Error::bad_request("reference_date must be a time such as 2026-03-02T20:15:00Z, or a day");
        let zone = self.reference_date.as_ref().and_then(zone);
        let asked_at = self.reference_date.map(|value| moment(&value).ok_or_else(invalid_date)).transpose()?;
        let query = self.query.unwrap_or_default();
        let (text, raises_topics) = match without_labels(&query) {
            Some(text) => (text, false),
            None => (query, true),
        };
        if text.trim().is_empty() {
            return Err(Mem0Error::bad_request("query is blank; it must contain words to search for"));
        }
        let threshold = self.threshold.unwrap_or(DEFAULT_THRESHOLD);
        if !(0.0..=1.0).contains(&threshold) {
            return Err(Mem0Error::bad_request("threshold must be between 0 and 1"));
        }
        let limit = match self.top_k.or(self.limit).map(usize::try_from) {
            None => default_limit,
            Some(Ok(limit)) if (1..=MAX_LIMIT).contains(&limit) => limit,
            Some(_) => return Err(Mem0Error::bad_request(format!("top_k must be between 1 and {MAX_LIMIT}"))),
        };
        let explain = self.explain.unwrap_or(false);
        Ok(SearchQuery {
            text,
            limit,
            threshold,
            asked_at,
            zone,
            explain,
            dialogue: dialogue.0,
            contains_dialogue: false,
            raises_topics,
        })
    }
}

impl Mem0 {
    /// Returns the memories in the areas that match the query, best first, and the form of the query that found them.
    ///
    /// If there is a dialogue before the query and the query finds nothing, two more searches follow: first for the
    /// query together with the last messages of the dialogue, then for the query as the engine's model rewrites it. For
    /// a query that names no topic, the search without the dialogue is skipped.
    pub(super) async fn search(
        &self,
        areas: &[SearchArea],
        query: &SearchQuery,
        turns: IncludedTurns,
    ) -> Result<(QueryForm, Vec<ScoredMemory>), Mem0Error> {
        let latest = query.dialogue.len().saturating_sub(MAX_CONTEXT_MESSAGES);
        let dialogue: Vec<(&str, &str)> =
            query.dialogue[latest..].iter().map(|message| (message.role.as_str(), message.text.as_str())).collect();
        if dialogue.is_empty() || !weak_question(&query.text) {
            let memories = self.search_text(areas, query, turns).await?;
            if dialogue.is_empty() || !memories.is_empty() {
                return Ok((QueryForm::Question, memories));
            }
        }
        let text = contextual_search_text(&dialogue, &query.text, MAX_CONTEXT_CHARS);
        let threshold = query.threshold * CONTEXT_THRESHOLD_FACTOR;
        let with_dialogue = SearchQuery { text, threshold, contains_dialogue: true, ..query.clone() };
        let mut memories = self.search_text(areas, &with_dialogue, turns).await?;
        let min_relevance = self.engine.settings().recall_options().min_relevance;
        // The words of the dialogue find more, and also the dialogue itself.
        memories.retain(|memory| memory.hit.relevance >= min_relevance && !query.is_in_dialogue(&memory.hit.record));
        let rewrite = self.engine.settings().rewrite();
        let Some(rewrite) = rewrite.filter(|_| memories.is_empty()) else { return Ok((QueryForm::Context, memories)) };
        match rewrite.ask(&query.text, &dialogue, Duration::MAX).await {
            Ok(text) => {
                let mut memories = self.search_text(areas, &SearchQuery { text, ..query.clone() }, turns).await?;
                memories.retain(|memory| !query.is_in_dialogue(&memory.hit.record));
                Ok((QueryForm::Rewritten, memories))
            }
            Err(error) => {
                tracing::warn!(kind = ?error.kind(), "the query is not rewritten, because the model failed");
                Ok((QueryForm::Context, memories))
            }
        }
    }

    /// Returns the memories in the areas that match the text of the query, best first.
    ///
    /// The engine's scores are comparable within one recall only, but a threshold needs an absolute score. It is the
    /// greater of the keyword score and the semantic score. The order within an area is the engine's: a memory before
    /// one with a greater score gets that score.
    async fn search_text(
        &self,
        areas: &[SearchArea],
        query: &SearchQuery,
        turns: IncludedTurns,
    ) -> Result<Vec<ScoredMemory>, Mem0Error> {
        let mut memories: Vec<ScoredMemory> = Vec::new();
        for area in areas {
            memories.extend(self.search_area(area, query, turns).await?);
        }
        // Stable, so that equal scores keep the engine's order.
        memories.sort_by(|a, b| b.score.total_cmp(&a.score));
        memories.truncate(query.limit);
        Ok(memories)
    }

    /// Searches one area. If too many hits fail the condition or are redundant turns, the search is repeated with a
    /// higher limit.
    async fn search_area(
        &self,
        area: &SearchArea,
        search: &SearchQuery,
        turns: IncludedTurns,
    ) -> Result<Vec<ScoredMemory>, Mem0Error> {
        let may_drop_hits = area.condition.is_some() || turns == IncludedTurns::User;
        let factor = if may_drop_hits { OVERFETCH_FACTOR } else { 1 };
        let mut limit = (search.limit * factor).min(MAX_CANDIDATES);
        loop {
            let mut options = *self.engine.settings().recall_options();
            options.max_candidates = options.max_candidates.max(limit);
            if !search.raises_topics {
                options.topic_limit = 0;
            }
            let mut query =
                RecallQuery::new(&search.text).with_filter(area.filter.clone()).with_limit(limit).with_options(options);
            if search.contains_dialogue {
                query = query.contains_dialogue();
            }
            query.asked_at = search.asked_at;
            query.zone.clone_from(&search.zone);
            query.as_of = area.as_of;
            let hits = self.engine.recall(&area.scope, query).await?.hits;
            let is_exhausted = hits.len() < limit;
            let mut memories = self.score_hits(&search.text, hits);
            memories.retain(|memory| area.matches(&memory.hit.record));
            let drops_turns = turns == IncludedTurns::User;
            if drops_turns {
                remove_sources(&mut memories, search.threshold);
            }
            let is_shown = |memory: &&ScoredMemory| !(drops_turns && is_asking_turn(&memory.hit.record));
            // `take` ends the count early: whether a turn only asks takes longer to find out than the rest.
            let has_enough = || memories.iter().filter(is_shown).take(search.limit).count() == search.limit;
            if is_exhausted || limit == MAX_CANDIDATES || has_enough() {
                // Applied last: memories below the threshold are no reason to search for more.
                memories.retain(|memory| memory.score >= search.threshold);
                memories.retain(|memory| is_shown(&memory));
                keep_order(&mut memories);
                return Ok(memories);
            }
            limit = (limit * OVERFETCH_FACTOR).min(MAX_CANDIDATES);
        }
    }

    /// Scores each hit of a recall: the greater of its keyword score and its semantic score.
    fn score_hits(&self, query: &str, hits: Vec<RecallHit>) -> Vec<ScoredMemory> {
        let embedder = self.engine.settings().embedder();
        let has_semantics = embedder.scale(query).semantic_weight > 0.0;
        let mut memories: Vec<ScoredMemory> = Vec::with_capacity(hits.len());
        for hit in hits {
            let keyword = retriever_score(&hit, Retriever::Keyword).unwrap_or(0.0).clamp(0.0, 1.0);
            let similarity = retriever_score(&hit, Retriever::Vector).filter(|_| has_semantics);
            let semantic = similarity.map_or(0.0, |similarity| {
                let unrelated = embedder.unrelated(query, &hit.record.text);
                ((similarity - unrelated) / (1.0 - unrelated).max(f64::EPSILON)).clamp(0.0, 1.0)
            });
            // If the query has words, a record that only its dates found is no match.
            let score = if hit.relevance > 0.0 { keyword.max(semantic) } else { 0.0 };
            // What a topic or an update has added shares no word with the query.
            let score = if is_added(&hit) { score.max(hit.relevance) } else { score };
            memories.push(ScoredMemory { score, keyword, semantic, hit });
        }
        memories
    }
}

/// Removes the turns from which memories with at least this score were extracted that say most of the turn.
fn remove_sources(memories: &mut Vec<ScoredMemory>, threshold: f64) {
    let mut facts: BTreeMap<RecordId, String> = BTreeMap::new();
    for ScoredMemory { hit, .. } in memories.iter().filter(|memory| memory.score >= threshold) {
        for source in &hit.record.derived_from {
            facts.entry(*source).or_default().push_str(&hit.record.text.to_lowercase());
        }
    }
    memories.retain(|ScoredMemory { hit: RecallHit { record, .. }, .. }| {
        record.kind != Kind::TURN || facts.get(&record.id).is_none_or(|facts| !says_most(facts, &record.text))
    });
}

/// Returns true if most words of a turn, by their beginnings, and most of its Chinese characters occur in its facts.
/// "My bakery is called Crumbs" says more than that the user runs a bakery.
fn says_most(facts: &str, turn: &str) -> bool {
    let is_han = |c: char| ('\u{3400}'..='\u{9fff}').contains(&c);
    let turn = turn.to_lowercase();
    let words = turn.split(|c: char| !c.is_alphabetic() || is_han(c)).filter(|word| word.chars().count() >= STEM_CHARS);
    let stems = words.map(|word| word.chars().take(STEM_CHARS).collect::<String>());
    let parts: Vec<String> = stems.chain(turn.chars().filter(|c| is_han(*c)).map(String::from)).collect();
    let said = parts.iter().filter(|part| facts.contains(part.as_str())).count();
    said * 5 >= parts.len() * 3
}

/// Returns the text without the labels of speakers, which are words of every fact about the user. `None` unless a
/// client has put the dialogue before its question.
fn without_labels(text: &str) -> Option<String> {
    if !text.lines().any(|line| line.starts_with(QUESTION_LABEL)) {
        return None;
    }
    let without =
        |line| [QUESTION_LABEL, "user: ", "assistant: "].iter().find_map(|label| str::strip_prefix(line, label));
    Some(text.lines().map(|line| without(line).unwrap_or(line)).collect::<Vec<&str>>().join("\n"))
}

/// Returns true for a turn that only asks.
fn is_asking_turn(record: &Record) -> bool {
    record.kind == Kind::TURN && is_question(&record.text)
}

/// Raises the score of each memory to the greatest of those after it, so that sorting by score keeps the order.
fn keep_order(memories: &mut [ScoredMemory]) {
    let mut greatest = 0.0;
    for memory in memories.iter_mut().rev() {
        greatest = memory.score.max(greatest);
        memory.score = greatest;
    }
}

/// Returns the score that a retriever gave to a hit, if it found it.
fn retriever_score(hit: &RecallHit, retriever: Retriever) -> Option<f64> {
    hit.found_by.iter().find(|found| found.retriever == retriever).map(|found| found.score.value())
}

fn is_added(hit: &RecallHit) -> bool {
    hit.found_by.iter().any(|found| matches!(found.retriever, Retriever::Topic | Retriever::Update))
}

impl ScoredMemory {
    /// Returns the memory with its score. With `explain` the row also contains the parts of the score.
    pub(super) fn row(&self, api: Mem0Api, query: &SearchQuery) -> MemoryRow {
        let semantic = rounded(self.semantic);
        let bm25 = rounded(self.keyword);
        let entity = rounded(retriever_score(&self.hit, Retriever::Graph).unwrap_or(0.0));
        let has_breakdown = query.explain && api == Mem0Api::Platform;
        let breakdown = has_breakdown.then_some(ScoreBreakdown { semantic, bm25, entity });
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
        let score =
            SearchScore { score: Some(rounded(self.score)), score_breakdown: breakdown, score_details: details };
        let row = MemoryRow::new(&self.hit.record, api).with_score(score);
        if self.hit.outdated { row.outdated() } else { row }
    }
}

/// Rounds to four decimal places.
fn rounded(score: f64) -> f64 {
    (score * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_a_dialogue_are_not_searched_for() {
        let query = "user: I slept badly\nassistant: Oh\nUser question: and now?";
        assert_eq!(without_labels(query).as_deref(), Some("I slept badly\nOh\nand now?"));
        assert_eq!(without_labels("user: a letter"), None);
    }

    #[test]
    fn a_fact_stands_for_a_turn_if_it_says_most_of_it() {
        assert!(says_most("the user is allergic to cashews.", "I'm allergic to cashews."));
        assert!(says_most("the user works as a welder.", "I work as a welder"));
        assert!(says_most("用户对花粉过敏。", "我对花粉过敏"));
        assert!(!says_most("the user runs a brewery.", "My brewery is called Hopstone."));
        assert!(!says_most("用户住在宁波。", "我住在宁波，我家的狗叫元宝，三岁了"));
    }
}
