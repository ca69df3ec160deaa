//! The list of retractions.

use axum::{
    Json,
    extract::{Query, State, rejection::QueryRejection},
};
use memory_engine::MemoryEngine;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{body, retract::RetractionReply};
use crate::{access::Access, fault::Fault};

const DEFAULT_LIMIT: usize = 100;
const MAX_LIMIT: usize = 500;

/// The parameters of the list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RetractionsQuery {
    /// The user. Default: the only user of the key, or all users of its tenant.
    user_id: Option<String>,
    /// The agent.
    agent_id: Option<String>,
    /// The conversation.
    session_id: Option<String>,
    /// The branch of the conversation.
    branch: Option<String>,
    /// Maximum number of retractions, from 1 to 500. Default: 100.
    #[schemars(range(min = 1, max = MAX_LIMIT))]
    limit: Option<usize>,
}

/// The retractions that can be restored.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RetractionsReply {
    /// The retractions, the latest first.
    retractions: Vec<RetractionReply>,
}

pub(super) async fn retractions(
    State(engine): State<MemoryEngine>,
    access: Access,
    query: Result<Query<RetractionsQuery>, QueryRejection>,
) -> Result<Json<RetractionsReply>, Fault> {
    let Query(query) = query.map_err(|error| Fault::bad_request(error.body_text()))?;
    let limit = query.limit.unwrap_or(DEFAULT_LIMIT);
    if !(1..=MAX_LIMIT).contains(&limit) {
        return Err(Fault::bad_request(format!("limit is {limit}; it must be from 1 to {MAX_LIMIT}")));
    }
    let scope = body::scope(&access, [query.user_id, query.agent_id, query.session_id, query.branch])?;
    let retractions = engine.retractions(&scope, limit).await?;
    Ok(Json(RetractionsReply { retractions: retractions.into_iter().map(RetractionReply::from).collect() }))
}
