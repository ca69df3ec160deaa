//! The inspector: a web page that shows the memories of an owner, and the routes that it reads from.
//!
//! The files of the page (`/ui/`) contain no memories and need no key. All data comes from routes behind the guard:
//! those of this folder, which only read, and the public API, through which every write goes.

mod accessible_scopes;
mod assets;
mod clip;
mod companion;
mod companion_view;
mod context;
mod deletion;
mod evidence;
mod facts;
mod graph;
mod operations;
mod overview;
mod owners;
mod query;
mod record;
mod search;
mod state;
mod timeline;
mod titles;
mod undo;

use std::{fs, sync::Arc};

use memory_engine::MemoryEngine;

use self::{overview::storage::Backend, state::InspectorState};
use crate::{
    config::Config,
    debug::search_report::{SearchParams, SearchReport},
    deletions::DeletionRequest,
    metrics::Metrics,
    openapi::{Routes, table},
    part::ServerPart,
    request::OwnerNames,
    server::Server,
};

/// The inspector: a web page at `/ui/`.
#[derive(Debug, Clone)]
#[must_use]
pub struct Inspector {
    state: InspectorState,
}

impl Inspector {
    /// Creates the inspector of this engine. The configuration names the database, whose size is shown, the prices of
    /// upstreams, and the options of the previews.
    pub fn new(engine: MemoryEngine, config: Config) -> Self {
        // The paths are resolved once, since this may wait for the disk.
        let database_file = fs::canonicalize(&config.db).ok().filter(|path| path.is_file()).map(Arc::from);
        let backend = Backend::of(&config.db);
        Self { state: InspectorState { engine, config: Arc::new(config), backend, database_file, metrics: None } }
    }

    /// Shows these metrics of the process in the view "Operations". Default: none.
    pub fn metrics(mut self, metrics: Metrics) -> Self {
        self.state.metrics = Some(metrics);
        self
    }

    /// Returns the routes under `/api/inspector`, which need a key.
    fn guarded_part(self) -> ServerPart {
        ServerPart::new("inspector", routes(), self.state)
    }
}

impl Server {
    /// Adds the page `/ui/` and the routes under `/api/inspector`.
    pub fn inspector(self, inspector: Inspector) -> Self {
        self.with_public_part(assets::part()).with_part(inspector.guarded_part())
    }
}

/// Adds the inspector unless the configuration switches it off.
pub(crate) fn add_if_enabled(
    config: &Config,
    server: Server,
    engine: &MemoryEngine,
    metrics: Option<Metrics>,
) -> Server {
    if !config.ui.enabled {
        return server;
    }
    let mut inspector = Inspector::new(engine.clone(), config.clone());
    inspector.state.metrics = metrics;
    server.inspector(inspector)
}

fn routes() -> Routes<InspectorState> {
    table! {
        Routes::new("inspector", "Read-only routes of the inspector, the web page at /ui/.");
        get "/api/inspector/users" => owners::list_users, "inspectorUsers",
            "Lists the users that the key may access." => owners::Users;
        get "/api/inspector/addresses" => owners::list_addresses, "inspectorAddresses",
            "Lists agents, conversations and branches of a user.", query OwnerNames => owners::Addresses;
        get "/api/inspector/overview" => overview::show_overview, "inspectorOverview",
            "Counts records, queued jobs and failures, and names the backend.",
            query OwnerNames => overview::Overview;
        get "/api/inspector/overview/growth" => overview::growth::show_growth, "inspectorGrowth",
            "Counts records by kind and day, or by kind and week.", query OwnerNames => overview::growth::Growth;
        get "/api/inspector/operations" => operations::show_operations, "inspectorOperations",
            "Returns latencies, errors, tokens and degraded recalls.", query OwnerNames => operations::Operations;
        get "/api/inspector/timeline" => timeline::show_timeline, "inspectorTimeline",
            "Lists turns in order of time, with what was derived.",
            query OwnerNames, query timeline::TimelineParams => timeline::TimelinePage;
        get "/api/inspector/companion" => companion::show_companion, "inspectorCompanion",
            "Shows affection, stages and key moments of a companion.",
            query OwnerNames, query companion::CompanionParams => companion::CompanionReport;
        get "/api/inspector/search" => search::by_url, "inspectorSearch",
            "Recalls memories of an owner, and explains each hit: scores, and ranks after each step.",
            query OwnerNames, query SearchParams => SearchReport;
        post "/api/inspector/context" => context::show, "inspectorContext",
            "Returns the memories that the server would put before a model for a message. Stores nothing.",
            query OwnerNames, body context::PreviewRequest => context::format::ContextPreview;
        get "/api/inspector/facts" => facts::list::list_facts, "inspectFacts",
            "Lists facts, grouped by subject and attribute.",
            query OwnerNames, query facts::list::ListParams => facts::list::FactPage;
        get "/api/inspector/facts/{id}" => facts::detail::show_fact, "inspectFact",
            "Returns a fact with its history, sources and contradictions.",
            query OwnerNames => facts::detail::FactDetail;
        get "/api/inspector/graph" => graph::picture::show_graph, "inspectGraph",
            "Returns the best-connected entities, or those near some names.",
            query OwnerNames, query graph::picture::GraphParams => graph::picture::GraphPicture;
        get "/api/inspector/graph/evidence" => graph::evidence::show_evidence, "inspectGraphEvidence",
            "Returns the records behind an entity or relation.",
            query OwnerNames, query graph::evidence::EvidenceParams => graph::evidence::GraphEvidence;
        get "/api/inspector/undo/records" => undo::show_records, "inspectorUndoRecords",
            "Returns records in any state by their ids.",
            query OwnerNames, query undo::RecordsParams => undo::RecordsReply;
        get "/api/inspector/undo/branches" => undo::list_branches, "inspectorBranches",
            "Lists the branches of conversations.",
            query OwnerNames, query undo::BranchesParams => undo::BranchesPage;
        post "/api/inspector/deletion-preview" => deletion::preview_deletion, "inspectorDeletionPreview",
            "Returns the records that a deletion would remove. Takes the body of POST /api/deletions.",
            body DeletionRequest => deletion::PreviewReply;
    }
}
