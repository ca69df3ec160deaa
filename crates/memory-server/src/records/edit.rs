//! Corrections of a text.

use axum::{Json, body::Bytes, extract::State, http::StatusCode};
use memory_engine::{MemoryEngine, RecordId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    access::Access,
    fault::Fault,
    request::{owner_params, parse_owner_body},
};

owner_params! {
    /// A correction: the owner, the id of a record, and its new text.
    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub(super) struct EditRequest: Option<String> {
        /// The id of the record.
        #[schemars(with = "String")]
        id: RecordId,
        /// The new text. For a fact its value, or a sentence that states it.
        text: String,
    }
}

/// The result of a correction.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct EditReply {
    /// The id of the record with the new text. A fact gets a new one.
    id: String,
}

/// Refuses corrections on a server whose keys take no decisions about memories.
pub(super) async fn refuse(_: Access) -> Fault {
    let message = "memories are reviewed, and this server takes no decisions (review_api.enabled = false), so that \
                   texts cannot be corrected here; `memory review` decides about those that wait";
    Fault::new(StatusCode::FORBIDDEN, message)
}

pub(super) async fn edit(
    State(engine): State<MemoryEngine>,
    access: Access,
    bytes: Bytes,
) -> Result<Json<EditReply>, Fault> {
    let (scope, request) = parse_owner_body::<EditRequest>(&access, &bytes, "{\"id\": \"...\", \"text\": \"...\"}")?;
    let id = engine.update(&scope, request.id, request.text).await?;
    Ok(Json(EditReply { id: id.to_string() }))
}
