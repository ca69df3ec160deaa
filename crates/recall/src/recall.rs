//! A recall from the query to the hits.

use memory_engine_core::{Result, Scope};
use tokio::time::Instant;

use crate::{hit::Recall, parts::RecallParts, query::RecallQuery, run::RecallRun, trace::Stage};

/// Answers a query.
pub(crate) async fn recall(parts: &RecallParts, scope: &Scope, query: &RecallQuery) -> Result<Recall> {
    let mut run = RecallRun::begin(parts, scope, query).await?;
    if query.scene.as_ref().is_some_and(|scene| !parts.scene_policy.recalls(scene)) {
        return Ok(run.trace.into_recall(Vec::new()));
    }
    let candidates = run.candidates().await?;
    let started = Instant::now();
    let hits = run.select(candidates).await?;
    run.trace.time(Stage::Fetch.name(), started);
    Ok(run.trace.into_recall(hits))
}
