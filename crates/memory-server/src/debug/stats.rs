//! Counts the records of a session.

use axum::{Json, extract::State};
use memory_engine::{MemoryEngine, Stats};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::session::Session;
use crate::fault::Fault;

/// Maximum number of failed jobs in a report.
const MAX_FAILURES: usize = 20;

/// Counts of the records and jobs of a session, and the failed jobs.
#[derive(Serialize, JsonSchema)]
pub(super) struct Report {
    session_id: String,
    #[serde(flatten)]
    #[schemars(with = "Map<String, Value>")]
    stats: Stats,
    /// The embedder: model and dimensions.
    embedder: String,
    failures: Vec<FailedJob>,
}

#[derive(Serialize, JsonSchema)]
struct FailedJob {
    id: String,
    job: &'static str,
    attempts: u32,
    reason: String,
    /// Missing for a dead-lettered job.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_at: Option<String>,
}

pub(super) async fn show(State(engine): State<MemoryEngine>, session: Session) -> Result<Json<Report>, Fault> {
    let stats = engine.stats(&session.scope).await?;
    let failures = engine.admin().failures(&session.scope, MAX_FAILURES).await?.into_iter().map(|failure| FailedJob {
        id: failure.id.to_string(),
        job: failure.job.as_str(),
        attempts: failure.attempts,
        reason: failure.reason,
        retry_at: failure.retry_at.map(|at| at.to_string()),
    });
    let embedder = engine.settings().embedder().space().to_string();
    Ok(Json(Report { session_id: session.id, stats, embedder, failures: failures.collect() }))
}
