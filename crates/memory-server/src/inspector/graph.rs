//! The view of the graph: entities and relations, and the records that state them.

mod evidence;
mod expiry;
mod picture;

use super::state::InspectorState;
use crate::{
    openapi::{ApiOperation, Routes},
    request::OwnerNames,
};

/// Adds the routes of the view.
pub(super) fn routes(routes: Routes<InspectorState>) -> Routes<InspectorState> {
    let graph = ApiOperation::new("inspectGraph", "Returns the best-connected entities, or those near some names.");
    let graph = graph.query::<OwnerNames>().query::<picture::GraphParams>().answer::<picture::GraphPicture>();
    let evidence = ApiOperation::new("inspectGraphEvidence", "Returns the records behind an entity or relation.");
    let evidence =
        evidence.query::<OwnerNames>().query::<evidence::EvidenceParams>().answer::<evidence::GraphEvidence>();
    routes.get("/api/inspector/graph", picture::show_graph, graph).get(
        "/api/inspector/graph/evidence",
        evidence::show_evidence,
        evidence,
    )
}
