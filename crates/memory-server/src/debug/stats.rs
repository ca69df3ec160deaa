//! What is in a session.

use axum::{Json, extract::State};
use memory_engine::{MemoryEngine, Stats};
use serde::Serialize;

use super::session::{NothingMore, Session};
use crate::fault::Fault;

/// How many failures are shown.
const FAILURES: usize = 20;

/// What is in a session, and what could not be done for it.
#[derive(Serialize)]
pub(super) struct Report {
    session_id: String,
    #[serde(flatten)]
    stats: Stats,
    /// What makes the vectors: model and dimensions.
    embedder: String,
    failures: Vec<Failed>,
}

#[derive(Serialize)]
struct Failed {
    id: String,
    job: &'static str,
    attempts: u32,
    reason: String,
    /// Left out when it was given up.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_at: Option<String>,
}

pub(super) async fn show(
    State(engine): State<MemoryEngine>,
    session: Session<NothingMore>,
) -> Result<Json<Report>, Fault> {
    let stats = engine.stats(&session.scope).await?;
    let failures = engine.failures(&session.scope, FAILURES).await?.into_iter().map(|failure| Failed {
        id: failure.id.to_string(),
        job: failure.job.as_str(),
        attempts: failure.attempts,
        reason: failure.reason,
        retry_at: failure.retry_at.map(|at| at.to_string()),
    });
    let embedder = engine.embedder().space().to_string();
    Ok(Json(Report { session_id: session.id, stats, embedder, failures: failures.collect() }))
}
