//! Pins, importance and expiry.

use axum::{Json, body::Bytes, extract::State};
use memory_engine::{MemoryEngine, RecordId, Timestamp, retention::RecordPatch};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    access::Access,
    fault::Fault,
    request::{MAX_IDS, check_ids, owner_params, parse_owner_body},
};

owner_params! {
    /// A change of records: the owner, the ids, and at least one of `pinned`, `importance` and `expires_at`.
    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub(super) struct PatchRequest: Option<String> {
        /// The ids, at most 500.
        #[schemars(with = "Vec<String>", length(min = 1, max = MAX_IDS))]
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
    let (scope, request) = parse_owner_body::<PatchRequest>(
        &access,
        &bytes,
        "{\"ids\": [...], \"pinned\": true}, importance or expires_at",
    )?;
    check_ids(&request.ids, MAX_IDS)?;
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
    let changed = engine.patch(&scope, &request.ids, patch).await?;
    Ok(Json(PatchReply { changed }))
}
