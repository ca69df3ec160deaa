//! The operations: latencies, errors, tokens, and the latest degraded recalls.

mod histogram;
mod process;
mod samples;

use axum::{Json, extract::State};
use memory_engine::admin::DegradedRecall;
use schemars::JsonSchema;
use serde::Serialize;

use self::{process::ProcessFigures, samples::Samples};
use super::{accessible_scopes::AccessibleScopes, state::InspectorState};
use crate::fault::Fault;

/// Maximum number of degraded recalls in an answer.
const MAX_DEGRADED_RECALLS: usize = 100;

/// Figures of the running server.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Operations {
    /// `shown`, `off` if metrics are switched off, or `hidden` for a key of some users, or of one of several tenants.
    metrics: &'static str,
    /// Figures of the process, if they are shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    process: Option<ProcessFigures>,
    /// The latest recalls of the owner, or of all users of the key, in which a stage failed or was late, latest first,
    /// at most 100.
    degraded_recalls: Vec<DegradedRecallEntry>,
}

/// A degraded recall. It has neither the query nor memories.
#[derive(Debug, Serialize, JsonSchema)]
struct DegradedRecallEntry {
    at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<String>,
    /// Number of hits. Missing if the recall failed as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    hits: Option<usize>,
    stages: Vec<DegradedStage>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct DegradedStage {
    stage: &'static str,
    reason: String,
}

pub(super) async fn show_operations(
    State(state): State<InspectorState>,
    accessible: AccessibleScopes,
) -> Result<Json<Operations>, Fault> {
    let (metrics, process) = match &state.metrics {
        _ if !accessible.reads_process => ("hidden", None),
        None => ("off", None),
        Some(metrics) => {
            let samples = Samples::parse(&metrics.process_text());
            let since = metrics.since().to_string();
            ("shown", Some(ProcessFigures::new(&samples, since, &state.config.gateway)))
        }
    };
    let admin = state.engine.admin();
    let mut recalls: Vec<DegradedRecall> =
        accessible.scopes.iter().flat_map(|scope| admin.degraded_recalls(scope, MAX_DEGRADED_RECALLS)).collect();
    recalls.sort_by_key(|recall| std::cmp::Reverse(recall.at));
    recalls.truncate(MAX_DEGRADED_RECALLS);
    let degraded_recalls = recalls.into_iter().map(DegradedRecallEntry::from).collect();
    Ok(Json(Operations { metrics, process, degraded_recalls }))
}

impl From<DegradedRecall> for DegradedRecallEntry {
    fn from(recall: DegradedRecall) -> Self {
        let stages = recall.degraded.into_iter().map(|part| DegradedStage { stage: part.stage, reason: part.reason });
        Self {
            at: recall.at.to_string(),
            user_id: recall.scope.user_name().map(str::to_owned),
            hits: recall.hits,
            stages: stages.collect(),
        }
    }
}
