//! The list of retractions.

use axum::{Json, extract::State};
use memory_engine::MemoryEngine;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::retract::RetractionReply;
use crate::{
    fault::Fault,
    request::{OwnerQuery, check_limit, owner_params},
};

const DEFAULT_LIMIT: usize = 100;
const MAX_LIMIT: usize = 500;

owner_params! {
    /// The parameters of the list.
    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub(super) struct RetractionsQuery: Option<String> {
        /// Maximum number of retractions, from 1 to 500. Default: 100.
        #[serde(default)]
        #[schemars(range(min = 1, max = MAX_LIMIT))]
        limit: Option<usize>,
    }
}

/// The retractions that can be restored.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RetractionsReply {
    /// The retractions, the latest first.
    retractions: Vec<RetractionReply>,
}

pub(super) async fn retractions(
    State(engine): State<MemoryEngine>,
    OwnerQuery { scope, params }: OwnerQuery<RetractionsQuery>,
) -> Result<Json<RetractionsReply>, Fault> {
    let limit = check_limit(params.limit.unwrap_or(DEFAULT_LIMIT), MAX_LIMIT)?;
    let retractions = engine.history().retractions(&scope, limit).await?;
    Ok(Json(RetractionsReply { retractions: retractions.into_iter().map(RetractionReply::from).collect() }))
}
