//! A recall from the query to the hits.

use memory_engine_core::{Result, Scope};

use crate::{hit::Recall, parts::RecallParts, query::RecallQuery, run::RecallRun};

/// Answers a query.
pub(crate) async fn recall(parts: &RecallParts, scope: &Scope, query: &RecallQuery) -> Result<Recall> {
    let mut run = RecallRun::begin(parts, scope, query).await?;
    if query.scene.as_ref().is_some_and(|scene| !parts.scene_policy.recalls(scene)) {
        return Ok(run.trace.into_recall(Vec::new()));
    }
    let candidates = run.candidates().await?;
    let hits = run.select(candidates).await?;
    let mut recall = run.trace.into_recall(hits);
    recall.query_shape = run.shape;
    Ok(recall)
}
