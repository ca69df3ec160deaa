//! Searches that explain each hit, for the debug API and the inspector.

use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use memory_engine::{
    Field, Filter, MemoryEngine, Recall, RecallHit, RecallQuery, RecordId, Scope, Timestamp,
    recall::{Degraded, Explanation, QueryShape},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    fault::Fault,
    request::{check_limit, non_empty},
};

/// Maximum number of hits of a search.
const MAX_LIMIT: usize = 100;
const DEFAULT_LIMIT: usize = 10;

/// A query, in the URL or in the body. An empty field counts as missing.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchParams {
    /// The text of the query, also called `q`.
    #[serde(alias = "q")]
    query: String,
    /// Maximum number of hits, from 1 to 100, also called `top_k`. Default: 10.
    #[serde(default = "default_limit", alias = "top_k")]
    #[schemars(range(min = 1, max = MAX_LIMIT))]
    limit: usize,
    /// The scene of the query.
    #[serde(default)]
    scene: String,
    /// Only records of this kind.
    #[serde(default)]
    kind: String,
    /// Only records from this time on: RFC 3339, or a date, which is 00:00 in the engine's time zone.
    #[serde(default)]
    since: String,
    /// Only records before this time, in the same format.
    #[serde(default)]
    until: String,
    /// Recalls the memories that were current at this time, as they were then, in the same format.
    #[serde(default)]
    as_of: String,
    /// The id of a record. The response explains why it is a hit or not.
    #[serde(default)]
    why: String,
}

fn default_limit() -> usize {
    DEFAULT_LIMIT
}

/// The hits of a query, and how they were found.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SearchReport {
    hits: Vec<ExplainedHit>,
    /// Minimum relevance (0–1) of a hit that may be injected into a prompt.
    min_relevance: f64,
    /// The formula that ranked the hits. Null if none was used.
    #[schemars(with = "Option<String>")]
    query_shape: Option<QueryShape>,
    /// The duration of the recall, in milliseconds.
    took_ms: f64,
    /// The time of each stage of the recall.
    stages: Vec<RecallStageTime>,
    /// The stages that failed or were skipped, with the reason.
    #[schemars(with = "Vec<Map<String, Value>>")]
    degraded: Vec<Degraded>,
    /// The explanation for the record in `why`.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<RecordExplanation>,
}

/// A hit with all parts of its score.
#[derive(Debug, Serialize, JsonSchema)]
struct ExplainedHit {
    /// The rank in the list, from 1.
    place: usize,
    /// The parts of the score, as text.
    explanation: String,
    #[serde(flatten)]
    #[schemars(with = "Map<String, Value>")]
    hit: RecallHit,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "StageTime")]
struct RecallStageTime {
    stage: &'static str,
    ms: f64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct RecordExplanation {
    #[schemars(with = "String")]
    id: RecordId,
    explanation: String,
    #[serde(flatten)]
    #[schemars(with = "Map<String, Value>")]
    details: Explanation,
}

/// Recalls memories, with the rank of each hit after each step, and explains the record in `why`.
///
/// # Errors
/// 400 for a parameter that is not valid; the errors of the recall.
pub(crate) async fn search(engine: &MemoryEngine, scope: &Scope, params: SearchParams) -> Result<SearchReport, Fault> {
    let explained_id = params.why.trim().to_owned();
    let query = params.query(engine.settings().zone())?.with_trace();
    let why = if explained_id.is_empty() {
        None
    } else {
        let id = explained_id.parse().map_err(|_| Fault::bad_request("why must be the id of a record, a UUID"))?;
        let details = engine.admin().explain(scope, query.clone(), id).await?;
        Some(RecordExplanation { id, explanation: details.verdict.to_string(), details })
    };
    let started = Instant::now();
    let Recall { hits, degraded, stages, query_shape, .. } = engine.recall(scope, query).await?;
    let took_ms = rounded_ms(started.elapsed());
    let hits = hits.into_iter().zip(1..);
    let hits = hits.map(|(hit, place)| ExplainedHit { place, explanation: hit.score_summary(), hit }).collect();
    let stages =
        stages.iter().map(|stage| RecallStageTime { stage: stage.stage, ms: rounded_ms(stage.took) }).collect();
    let min_relevance = engine.settings().recall_options().min_relevance;
    Ok(SearchReport { hits, min_relevance, query_shape, took_ms, stages, degraded, why })
}

impl SearchParams {
    fn query(self, zone: &TimeZone) -> Result<RecallQuery, Fault> {
        let limit = check_limit(self.limit, MAX_LIMIT)?;
        let mut query = RecallQuery::new(self.query).with_limit(limit);
        if let Some(scene) = non_empty(&self.scene) {
            query = query.in_scene(scene);
        }
        if let Some(kind) = non_empty(&self.kind) {
            query = query.with_filter(Filter::eq(Field::Kind, kind));
        }
        if !self.since.trim().is_empty() {
            query = query.since(Timestamp::parse_in(&self.since, zone)?);
        }
        if !self.until.trim().is_empty() {
            query = query.until(Timestamp::parse_in(&self.until, zone)?);
        }
        if !self.as_of.trim().is_empty() {
            query = query.as_of(Timestamp::parse_in(&self.as_of, zone)?);
        }
        Ok(query)
    }
}

/// Returns a duration in milliseconds with three decimal places.
pub(crate) fn rounded_ms(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}
