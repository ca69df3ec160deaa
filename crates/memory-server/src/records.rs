//! Changes of records under `/api/records`: pins, importance, expiry, corrections, and retractions that can be
//! restored.

mod api;

use axum::routing::post;
use memory_engine::{MemoryEngine, Result, review::ReviewPolicy};

use crate::{
    config::{Config, Variables},
    openapi::{ApiOperation, Routes, table},
    part::ServerPart,
    server::Server,
};

/// The routes under `/api/records`: pin records, set their importance and expiry, correct, retract and restore them.
#[derive(Debug, Clone)]
#[must_use]
pub struct Records {
    engine: MemoryEngine,
    corrects: bool,
}

impl Records {
    /// Creates the routes over a memory.
    pub fn new(engine: MemoryEngine) -> Self {
        Self { engine, corrects: true }
    }

    /// Sets whether texts can be corrected, which also accepts a memory that waits for a review. Default: true.
    pub fn with_corrections(mut self, corrects: bool) -> Self {
        self.corrects = corrects;
        self
    }

    fn part(self) -> ServerPart {
        ServerPart::new("records", routes(self.corrects), self.engine)
    }
}

impl Server {
    /// Adds the changes of records under `/api/records`.
    pub fn records(self, records: Records) -> Self {
        self.with_part(records.part())
    }
}

/// Builds the part unless the configuration switches it off.
pub(crate) fn build(config: &Config, engine: &MemoryEngine, _: Variables<'_>) -> Result<Option<ServerPart>> {
    // A correction counts at once, as the decision of a person. Where keys take no decisions, they correct nothing.
    let corrects = config.review_api.enabled || *engine.settings().review_policy() == ReviewPolicy::default();
    Ok(config.records_api.enabled.then(|| Records::new(engine.clone()).with_corrections(corrects).part()))
}

fn routes(corrects: bool) -> Routes<MemoryEngine> {
    let correct = if corrects { post(api::edit) } else { post(api::refuse) };
    let edit = ApiOperation::new("editRecord", "Corrects the text of a record. A fact is superseded by a new one.");
    let edit = edit.body::<api::EditRequest>().answer::<api::EditReply>();
    let routes = Routes::new("records", "Pins, importance, expiry, corrections and retractions of records.");
    table! {
        routes.route("post", "/api/records/edit", correct, edit);
        post "/api/records/patch" => api::patch, "patchRecords",
            "Pins records, or sets their importance or expiry.", body api::PatchRequest => api::PatchReply;
        post "/api/records/retract" => api::retract, "retractRecords",
            "Retracts records and everything derived from them.", body api::RetractRequest => api::RetractionReply;
        post "/api/records/restore" => api::restore, "restoreRetraction",
            "Restores the records of a retraction.", body api::RestoreRequest => api::RestoreReply;
        get "/api/records/core" => api::show_core, "showCore",
            "Lists the memories that the prompt of every message has.", query api::CoreQuery => api::CoreReply;
        get "/api/records/retractions" => api::list_retractions, "listRetractions",
            "Lists the retractions that can be restored, the latest first.",
            query api::RetractionsQuery => api::RetractionsReply;
    }
}
