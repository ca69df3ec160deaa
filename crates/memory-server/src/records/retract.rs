//! Retractions.

use axum::{Json, body::Bytes, extract::State};
use memory_engine::{MemoryEngine, RecordId, history::Retraction};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    access::Access,
    fault::Fault,
    request::{MAX_IDS, check_ids, owner_params, parse_owner_body},
};

owner_params! {
    /// A retraction: the owner, the ids of wrong records, and the reason.
    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub(super) struct RetractRequest: Option<String> {
        /// The ids, at most 500. Records that are retracted already are skipped.
        #[schemars(with = "Vec<String>", length(min = 1, max = MAX_IDS))]
        ids: Vec<RecordId>,
        /// The reason. It is stored until one of the records is changed or deleted.
        #[serde(default)]
        reason: String,
    }
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
    let (scope, request) =
        parse_owner_body::<RetractRequest>(&access, &bytes, "{\"ids\": [...]} and optionally \"reason\"")?;
    check_ids(&request.ids, MAX_IDS)?;
    let retraction = engine.history().retract(&scope, &request.ids, request.reason.trim()).await?;
    Ok(Json(retraction.into()))
}
