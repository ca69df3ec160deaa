//! The view of the graph: entities and relations, and the records that state them.

mod evidence;
mod picture;

use memory_engine::{Field, Filter, Op, Timestamp};

use super::{InspectorState, query::OwnerQuery};
use crate::openapi::{ApiOperation, Routes};

/// Adds the routes of the view.
pub(super) fn routes(routes: Routes<InspectorState>) -> Routes<InspectorState> {
    let graph = ApiOperation::new("inspectGraph", "Returns the best-connected entities, or those near some names.");
    let graph = graph.query::<OwnerQuery>().query::<picture::GraphParams>().answer::<picture::GraphPicture>();
    let evidence = ApiOperation::new("inspectGraphEvidence", "Returns the records behind an entity or relation.");
    let evidence =
        evidence.query::<OwnerQuery>().query::<evidence::EvidenceParams>().answer::<evidence::GraphEvidence>();
    routes.get("/api/inspector/graph", picture::show_graph, graph).get(
        "/api/inspector/graph/evidence",
        evidence::show_evidence,
        evidence,
    )
}

/// Returns the filter for records that have not expired. A pinned record does not expire.
fn unexpired(now: Timestamp) -> Filter {
    let is_due = Filter::compare(Field::ExpiresAt, Op::Le, now).and(Filter::eq(Field::Pinned, false));
    Filter::Not(Box::new(is_due))
}
