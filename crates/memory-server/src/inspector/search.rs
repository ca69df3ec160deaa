//! The search of the inspector: hits of all conversations of an owner, with everything that made their order.

use axum::{Json, extract::State, http::Uri};

use super::{InspectorState, query::Scoped};
use crate::{
    debug::search_report::{SEARCH_PARAMETERS, SearchReport, search},
    fault::Fault,
    request::parse_query,
};

/// Parameters as they are in the URL: their names are compared with the known ones before they are read.
type Pairs = Vec<(String, String)>;

pub(super) async fn by_url(
    State(state): State<InspectorState>,
    scoped: Scoped<Pairs>,
    uri: Uri,
) -> Result<Json<SearchReport>, Fault> {
    if let Some((name, _)) = scoped.params.iter().find(|(name, _)| !SEARCH_PARAMETERS.contains(&name.as_str())) {
        let known = SEARCH_PARAMETERS.join(", ");
        let message = format!("unknown parameter {name:?} in the URL; besides those of the owner, known are {known}");
        return Err(Fault::bad_request(message));
    }
    Ok(Json(search(&state.engine, &scoped.scope, parse_query(&uri)?).await?))
}
