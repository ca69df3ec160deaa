//! Restoring what was retracted.

use axum::{Json, body::Bytes, extract::State};
use memory_engine::{MemoryEngine, RecordId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::body;
use crate::{access::Access, fault::Fault};

/// The owner, and the id of a retraction.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RestoreRequest {
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
    /// The id of the retraction.
    #[schemars(with = "String")]
    retraction: RecordId,
}

/// The result of restoring a retraction.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RestoreReply {
    /// Number of restored records: those that have not changed since. Summaries and profiles are written again instead.
    restored: u64,
}

pub(super) async fn restore(
    State(engine): State<MemoryEngine>,
    access: Access,
    bytes: Bytes,
) -> Result<Json<RestoreReply>, Fault> {
    let expected = "{\"retraction\": \"...\"}, an id that GET /api/records/retractions lists";
    let request: RestoreRequest = body::parse(&bytes, expected)?;
    let scope = body::scope(&access, [request.user_id, request.agent_id, request.session_id, request.branch])?;
    let restored = engine.restore(&scope, request.retraction).await?;
    Ok(Json(RestoreReply { restored }))
}
