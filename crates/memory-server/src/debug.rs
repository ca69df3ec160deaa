//! The debug API: inspects the memory of a session.

pub(crate) mod reindex;
mod scan;
mod search;
pub(crate) mod search_report;
mod session;
mod stats;

use memory_engine::{MemoryEngine, Result};

use self::{
    reindex::ReindexProgress,
    scan::{ScanParams, ScanReport},
    search::SessionReport,
    search_report::SearchParams,
    session::SessionOwner,
    stats::Report,
};
use crate::{
    config::{Config, Variables},
    openapi::{ApiOperation, Routes, table},
    part::ServerPart,
    server::Server,
};

/// The debug API: shows the contents of a session's memory, and why a memory is recalled or not.
#[derive(Debug, Clone)]
#[must_use]
pub struct Debugging {
    engine: MemoryEngine,
}

impl Debugging {
    /// Creates the API over a memory.
    pub fn new(engine: MemoryEngine) -> Self {
        Self { engine }
    }

    pub(crate) fn part(self) -> ServerPart {
        ServerPart::new("debug", routes(), self.engine)
    }
}

impl Server {
    /// Adds the debug API under `/api/memory`.
    pub fn debugging(self, debugging: Debugging) -> Self {
        self.with_part(debugging.part())
    }
}

/// Builds the part unless the configuration switches it off.
pub(crate) fn build(config: &Config, engine: &MemoryEngine, _: Variables<'_>) -> Result<Option<ServerPart>> {
    Ok(config.debug.enabled.then(|| Debugging::new(engine.clone()).part()))
}

fn routes() -> Routes<MemoryEngine> {
    let reindex =
        ApiOperation::new("reindex", "Queues all records of the session for indexing.").query::<SessionOwner>();
    let reindex = reindex.response::<ReindexProgress>("202", "The jobs are queued.", "application/json");
    let routes = Routes::new("debug", "Inspects the memory of a session.");
    table! {
        routes.post("/api/memory/{session_id}/reindex", reindex::start, reindex);
        get "/api/memory/{session_id}/reindex/{id}" => reindex::progress, "reindexProgress",
            "Returns the progress of indexing.", query SessionOwner => ReindexProgress;
        get "/api/memory/{session_id}/stats" => stats::show, "stats",
            "Counts the records of the session, and lists failed jobs.", query SessionOwner => Report;
        get "/api/memory/{session_id}/search" => search::by_url, "searchByUrl",
            "Recalls memories for a query in the URL, and explains each hit.",
            query SessionOwner, query SearchParams => SessionReport;
        post "/api/memory/{session_id}/search" => search::by_body, "searchByBody",
            "Recalls memories for a query in the body, and explains each hit.",
            query SessionOwner, body SearchParams => SessionReport;
        post "/api/memory/{session_id}/scan-secrets" => scan::run, "scanSecrets",
            "Counts secrets and personal data in the session by rule, and masks them on request.",
            query SessionOwner, body ScanParams => ScanReport;
    }
}
