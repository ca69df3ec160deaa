//! Retractions.

use axum::{Json, body::Bytes, extract::State};
use memory_engine::{MemoryEngine, RecordId, history::Retraction};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::body;
use crate::{access::Access, fault::Fault};

/// A retraction: the owner, the ids of wrong records, and the reason.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RetractRequest {
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
    /// The ids, at most 500. Records that are retracted already are skipped.
    #[schemars(with = "Vec<String>", length(min = 1, max = body::MAX_IDS))]
    ids: Vec<RecordId>,
    /// The reason. It is stored until one of the records is changed or deleted.
    #[serde(default)]
    reason: String,
}

/// Records that were retracted together.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RetractionReply {
    /// The id by which they can be restored. Null if the request has retracted nothing.
    id: Option<String>,
    /// The reason. `rewind` if the end of a conversation was retracted.
    reason: String,
    /// The time of the retraction (RFC 3339, UTC).
    at: String,
    /// The ids of the retracted records, and of those derived from them.
    records: Vec<String>,
}

impl From<Retraction> for RetractionReply {
    fn from(retraction: Retraction) -> Self {
        let Retraction { id, reason, at, records, .. } = retraction;
        Self {
            id: (!records.is_empty()).then(|| id.to_string()),
            reason,
            at: at.to_string(),
            records: records.iter().map(RecordId::to_string).collect(),
        }
    }
}

pub(super) async fn retract(
    State(engine): State<MemoryEngine>,
    access: Access,
    bytes: Bytes,
) -> Result<Json<RetractionReply>, Fault> {
    let request: RetractRequest = body::parse(&bytes, "{\"ids\": [...]} and optionally \"reason\"")?;
    body::check_ids(&request.ids)?;
    let scope = body::scope(&access, [request.user_id, request.agent_id, request.session_id, request.branch])?;
    let retraction = engine.retract(&scope, &request.ids, request.reason.trim()).await?;
    Ok(Json(retraction.into()))
}
