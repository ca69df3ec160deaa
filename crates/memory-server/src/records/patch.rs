//! Pins, importance and expiry.

use axum::{Json, body::Bytes, extract::State};
use memory_engine::{MemoryEngine, RecordId, Timestamp, retention::RecordPatch};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::body;
use crate::{access::Access, fault::Fault};

/// A change of records: the owner, the ids, and at least one of `pinned`, `importance` and `expires_at`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PatchRequest {
    /// The user. Default: the only user of the key, or all users of its tenant.
    #[serde(default)]
    user_id: Option<String>,
    /// The agent.
    #[serde(default)]
    agent_id: Option<String>,
    /// The conversation.
    #[serde(default)]
    session_id: Option<String>,
    /// The branch of the conversation.
    #[serde(default)]
    branch: Option<String>,
    /// The ids, at most 500.
    #[schemars(with = "Vec<String>", length(min = 1, max = body::MAX_IDS))]
    ids: Vec<RecordId>,
    /// True to pin the records, false to unpin them.
    #[serde(default)]
    pinned: Option<bool>,
    /// Importance, 0 to 1.
    #[serde(default)]
    importance: Option<f64>,
    /// The time at which the records expire (RFC 3339), or `never`.
    #[serde(default)]
    expires_at: Option<String>,
}

/// The result of a change.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PatchReply {
    /// Number of records that the request has changed.
    changed: u64,
}

pub(super) async fn patch(
    State(engine): State<MemoryEngine>,
    access: Access,
    bytes: Bytes,
) -> Result<Json<PatchReply>, Fault> {
    let request: PatchRequest = body::parse(&bytes, "{\"ids\": [...], \"pinned\": true}, importance or expires_at")?;
    body::check_ids(&request.ids)?;
    let mut patch = RecordPatch::default();
    if let Some(pinned) = request.pinned {
        patch = patch.pinned(pinned);
    }
    if let Some(importance) = request.importance {
        patch = patch.importance(importance);
    }
    match request.expires_at.as_deref() {
        Some("never") => patch = patch.never_expires(),
        Some(time) => patch = patch.expires_at(time.parse::<Timestamp>()?),
        None => {}
    }
    let scope = body::scope(&access, [request.user_id, request.agent_id, request.session_id, request.branch])?;
    let changed = engine.patch(&scope, &request.ids, patch).await?;
    Ok(Json(PatchReply { changed }))
}
