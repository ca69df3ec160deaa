//! Restoring what was retracted.

use axum::{Json, body::Bytes, extract::State};
use memory_engine::{MemoryEngine, RecordId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    access::Access,
    fault::Fault,
    request::{owner_params, parse_owner_body},
};

owner_params! {
    /// The owner, and the id of a retraction.
    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub(super) struct RestoreRequest: Option<String> {
        /// The id of the retraction.
        #[schemars(with = "String")]
        retraction: RecordId,
    }
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
    let (scope, request) = parse_owner_body::<RestoreRequest>(&access, &bytes, expected)?;
    let restored = engine.history().restore(&scope, request.retraction).await?;
    Ok(Json(RestoreReply { restored }))
}
