//! The memory as the backend of other frameworks' tools.

mod items;
mod memory_tool;
mod state;
mod vector_search;

use std::sync::Arc;

use axum::{Router, response::IntoResponse};
use memory_engine::{MemoryEngine, Result};

use self::state::ToolsState;
use crate::{
    config::{Config, Variables},
    fault::Fault,
    part::ServerPart,
    server::Server,
};

/// The memory as the backend of other frameworks' tools: Anthropic's memory tool, LangGraph's store, and the search of
/// OpenAI's vector stores.
#[derive(Debug, Clone)]
#[must_use]
pub struct Tools(ToolsState);

impl Tools {
    /// Creates the routes over a memory.
    pub fn new(engine: MemoryEngine) -> Self {
        Self(ToolsState { engine, default_user: "default".into() })
    }

    /// Sets the user of requests that name none, for keys of all users. Default: `default`.
    pub fn with_user(mut self, user: impl Into<String>) -> Self {
        self.0.default_user = user.into();
        self
    }

    pub(crate) fn part(self) -> ServerPart {
        let state = Arc::new(self.0);
        let (mut router, mut sections) = (Router::new(), Vec::new());
        for routes in [memory_tool::routes(), items::routes(), vector_search::routes()] {
            let (part, section) = routes.finish();
            router = router.merge(part);
            sections.push(section);
        }
        let router = router.with_state(state);
        ServerPart { name: "tools", router, sections, errors: Fault::into_response, background: None }
    }
}

impl Server {
    /// Adds the backends of tools.
    pub fn tools(self, tools: Tools) -> Self {
        self.with_part(tools.part())
    }
}

/// Builds the part unless the configuration switches it off.
pub(crate) fn build(config: &Config, engine: &MemoryEngine, _: Variables<'_>) -> Result<Option<ServerPart>> {
    let tools = || Tools::new(engine.clone()).with_user(&config.user);
    Ok(config.tools.enabled.then(|| tools().part()))
}
