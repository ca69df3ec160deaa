//! The view of facts: lists them by subject and attribute, and shows the history and the sources of one.

mod detail;
mod list;
mod row;

use super::{query::OwnerQuery, state::InspectorState};
use crate::openapi::{ApiOperation, Routes};

/// Adds the routes of the view.
pub(super) fn routes(routes: Routes<InspectorState>) -> Routes<InspectorState> {
    let list = ApiOperation::new("inspectFacts", "Lists facts, grouped by subject and attribute.");
    let list = list.query::<OwnerQuery>().query::<list::ListParams>().answer::<list::FactPage>();
    let show = ApiOperation::new("inspectFact", "Returns a fact with its history, sources and contradictions.");
    let show = show.query::<OwnerQuery>().answer::<detail::FactDetail>();
    routes.get("/api/inspector/facts", list::list_facts, list).get("/api/inspector/facts/{id}", detail::show_fact, show)
}
