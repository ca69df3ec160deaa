//! The view of facts: lists them by subject and attribute, and shows the history and the sources of one.

mod detail;
mod list;
mod row;

use super::state::InspectorState;
use crate::{
    openapi::{ApiOperation, Routes},
    request::OwnerNames,
};

/// Adds the routes of the view.
pub(super) fn routes(routes: Routes<InspectorState>) -> Routes<InspectorState> {
    let list = ApiOperation::new("inspectFacts", "Lists facts, grouped by subject and attribute.");
    let list = list.query::<OwnerNames>().query::<list::ListParams>().answer::<list::FactPage>();
    let show = ApiOperation::new("inspectFact", "Returns a fact with its history, sources and contradictions.");
    let show = show.query::<OwnerNames>().answer::<detail::FactDetail>();
    routes.get("/api/inspector/facts", list::list_facts, list).get("/api/inspector/facts/{id}", detail::show_fact, show)
}
