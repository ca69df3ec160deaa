//! Pins, importance and expiry of records, under `/api/records`.

use axum::{
    Json, Router,
    body::Bytes,
    extract::State,
    http::{Method, StatusCode},
    response::IntoResponse,
};
use memory_engine::{MemoryEngine, RecordId, Result, Timestamp, retention::RecordPatch};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    access::{Access, Owner},
    config::Config,
    fault::Fault,
    openapi::{ApiOperation, Routes},
    part::ServerPart,
};

/// Maximum number of ids of a request.
const MAX_IDS: usize = 500;

/// A change of records: the owner, the ids, and at least one of `pinned`, `importance` and `expires_at`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PatchRequest {
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
    #[schemars(with = "Vec<String>")]
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
struct PatchReply {
    /// Number of records that the request has changed.
    changed: u64,
}

/// Builds the part unless the configuration switches it off.
pub(crate) fn build(
    config: &Config,
    engine: &MemoryEngine,
    _: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<ServerPart>> {
    if !config.records_api.enabled {
        return Ok(None);
    }
    let (router, section) = routes().finish();
    let router: Router = router
        .method_not_allowed_fallback(async |method: Method| {
            Fault::new(StatusCode::METHOD_NOT_ALLOWED, format!("{method} is not allowed on this path"))
        })
        .with_state(engine.clone());
    let errors = Fault::into_response;
    Ok(Some(ServerPart { name: "records", router, sections: vec![section], errors, background: None }))
}

fn routes() -> Routes<MemoryEngine> {
    let patch = ApiOperation::new("patchRecords", "Pins records, or sets their importance or expiry.");
    Routes::new("records", "Pins, importance and expiry of records.").post(
        "/api/records/patch",
        patch_records,
        patch.body::<PatchRequest>().answer::<PatchReply>(),
    )
}

async fn patch_records(
    State(engine): State<MemoryEngine>,
    access: Access,
    body: Bytes,
) -> std::result::Result<Json<PatchReply>, Fault> {
    let request: PatchRequest = serde_json::from_slice(&body).map_err(|error| {
        Fault::bad_request(format!("{error}; send {{\"ids\": [...], \"pinned\": true}}, importance or expires_at"))
    })?;
    if request.ids.is_empty() || request.ids.len() > MAX_IDS {
        let count = request.ids.len();
        return Err(Fault::bad_request(format!("ids has {count} entries; name from 1 to {MAX_IDS} records")));
    }
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
    let [user, agent, session, branch] =
        [request.user_id, request.agent_id, request.session_id, request.branch].map(non_empty);
    let scope = access.scope(&Owner { user, agent, session, branch })?;
    let changed = engine.patch(&scope, &request.ids, patch).await?;
    Ok(Json(PatchReply { changed }))
}

/// An empty name counts as missing.
fn non_empty(name: Option<String>) -> Option<String> {
    name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty())
}
