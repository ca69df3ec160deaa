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

use std::sync::Arc;

use memory_engine::MemoryEngine;

use self::state::InspectorState;
use crate::{config::Config, metrics::Metrics, openapi::Routes, part::ServerPart, server::Server};

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
        Self { state: InspectorState { engine, config: Arc::new(config), metrics: None } }
    }

    /// Shows these metrics of the process in the view "Operations". Default: none.
    pub fn metrics(mut self, metrics: Metrics) -> Self {
        self.state.metrics = Some(metrics);
        self
    }

    /// Returns the routes under `/api/inspector`, which need a key.
    fn guarded_part(self) -> ServerPart {
        ServerPart::new("inspector", routes().with_method_faults(), self.state)
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
    let routes = Routes::new("inspector", "Read-only routes of the inspector, the web page at /ui/.");
    let views = [
        owners::routes,
        overview::routes,
        operations::routes,
        timeline::routes,
        companion::routes,
        search::routes,
        context::routes,
        facts::routes,
        graph::routes,
        undo::routes,
        deletion::routes,
    ];
    views.into_iter().fold(routes, |routes, add| add(routes))
}
