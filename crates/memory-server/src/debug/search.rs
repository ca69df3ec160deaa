//! What is found for a question, and why.

use axum::{
    Json,
    extract::{State, rejection::JsonRejection},
};
use jiff::tz::TimeZone;
use memory_engine::{
    Degraded, Explanation, Field, Filter, MemoryEngine, Recall, RecallHit, RecallQuery, RecordId, Timestamp,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::session::{Asked, NothingMore, Session};
use crate::fault::Fault;

const MOST: usize = 100;

/// A question, in the URL or as a body. What is empty is not asked.
#[derive(Debug, Deserialize)]
pub(super) struct Question {
    #[serde(alias = "q")]
    query: String,
    #[serde(default = "ten", alias = "top_k")]
    limit: usize,
    /// The scene that it is asked from.
    #[serde(default)]
    scene: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    since: String,
    #[serde(default)]
    until: String,
    /// A record: why it is found or not.
    #[serde(default)]
    why: String,
}

fn ten() -> usize {
    10
}

impl Asked for Question {
    const NAMES: &'static [&'static str] = &["query", "q", "limit", "top_k", "scene", "kind", "since", "until", "why"];
}

/// What was found, and how.
#[derive(Serialize)]
pub(super) struct Answer {
    session_id: String,
    hits: Vec<Hit>,
    stages: Vec<Stage>,
    degraded: Vec<Degraded>,
    /// Why the record that was asked about is a hit or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<Why>,
}

/// A hit with everything that made its score, also in words.
#[derive(Serialize)]
struct Hit {
    place: usize,
    explanation: String,
    #[serde(flatten)]
    hit: RecallHit,
}

#[derive(Serialize)]
struct Stage {
    stage: &'static str,
    ms: f64,
}

#[derive(Serialize)]
struct Why {
    id: RecordId,
    explanation: String,
    #[serde(flatten)]
    details: Explanation,
}

pub(super) async fn by_url(
    State(engine): State<MemoryEngine>,
    session: Session<Question>,
) -> Result<Json<Answer>, Fault> {
    let Session { scope, id, asked } = session;
    answer(&engine, Session { scope, id, asked: NothingMore {} }, asked).await
}

pub(super) async fn by_body(
    State(engine): State<MemoryEngine>,
    session: Session<NothingMore>,
    body: Result<Json<Map<String, Value>>, JsonRejection>,
) -> Result<Json<Answer>, Fault> {
    let Json(body) = body.map_err(|e| Fault::new(e.status(), e.body_text()))?;
    if let Some(name) = body.keys().find(|name| !Question::NAMES.contains(&name.as_str())) {
        let known = Question::NAMES.join(", ");
        return Err(Fault::bad_request(format!("the body asks for {name:?}; it may ask for {known}")));
    }
    let question: Question =
        serde_json::from_value(Value::Object(body)).map_err(|e| Fault::bad_request(e.to_string()))?;
    answer(&engine, session, question).await
}

async fn answer(
    engine: &MemoryEngine,
    session: Session<NothingMore>,
    question: Question,
) -> Result<Json<Answer>, Fault> {
    let why = question.why.trim().to_owned();
    let query = question.query()?;
    let why = match why.as_str() {
        "" => None,
        id => {
            let id = id.parse().map_err(|_| Fault::bad_request("why names a record by its id, a UUID"))?;
            let details = engine.explain(&session.scope, query.clone(), id).await?;
            Some(Why { id, explanation: details.verdict.to_string(), details })
        }
    };
    let Recall { hits, degraded, stages, .. } = engine.recall(&session.scope, query).await?;
    let hits = hits.into_iter().zip(1..).map(|(hit, place)| Hit { place, explanation: in_words(&hit), hit });
    let stages = stages.iter().map(|of| Stage { stage: of.stage, ms: (of.took.as_secs_f64() * 1e6).round() / 1e3 });
    Ok(Json(Answer { session_id: session.id, hits: hits.collect(), stages: stages.collect(), degraded, why }))
}

impl Question {
    fn query(self) -> Result<RecallQuery, Fault> {
        if !(1..=MOST).contains(&self.limit) {
            return Err(Fault::bad_request(format!("limit is {}; it goes from 1 to {MOST}", self.limit)));
        }
        let mut query = RecallQuery::new(self.query).with_limit(self.limit);
        if !self.scene.trim().is_empty() {
            query = query.in_scene(self.scene.trim());
        }
        if !self.kind.trim().is_empty() {
            query = query.with_filter(Filter::eq(Field::Kind, self.kind.trim()));
        }
        if !self.since.trim().is_empty() {
            query = query.since(Timestamp::parse_in(&self.since, &TimeZone::UTC)?);
        }
        if !self.until.trim().is_empty() {
            query = query.until(Timestamp::parse_in(&self.until, &TimeZone::UTC)?);
        }
        Ok(query)
    }
}

/// Which arms found a hit and where, and what each stage did to it.
fn in_words(hit: &RecallHit) -> String {
    let ways = hit.found_by.iter().map(|f| format!("{} #{} at {}", f.arm.as_str(), f.rank, f.score));
    let ways = ways.collect::<Vec<_>>().join(", ");
    let judged = hit.reranked.map(|score| format!("; the reranker says {score}")).unwrap_or_default();
    let boosts = hit.boosts.iter().map(|b| format!("; {} × {:.2}", b.of, b.factor)).collect::<String>();
    let repeats = hit.repeats.map(|id| format!("; repeats {id}")).unwrap_or_default();
    format!("score {:.4}: {ways}{judged}{boosts}{repeats}", hit.score.value())
}
