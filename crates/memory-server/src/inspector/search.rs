//! The search of the inspector: hits of all conversations of an owner, with everything that made their order.

use axum::{Json, extract::State};

use super::{query::Scoped, state::InspectorState};
use crate::{
    debug::search_report::{SearchParams, SearchReport, search},
    fault::Fault,
};

pub(super) async fn by_url(
    State(state): State<InspectorState>,
    scoped: Scoped<SearchParams>,
) -> Result<Json<SearchReport>, Fault> {
    Ok(Json(search(&state.engine, &scoped.scope, scoped.params).await?))
}
