//! The memory as tools of the Model Context Protocol.

use axum::Router;
use memory_engine::MemoryEngine;

/// The memory as tools of the Model Context Protocol.
#[derive(Debug, Clone)]
#[must_use]
pub struct Mcp {
    engine: MemoryEngine,
}

impl Mcp {
    /// Over this memory.
    pub fn new(engine: MemoryEngine) -> Self {
        Self { engine }
    }

    /// Its routes. They want an [`Access`](crate::Access) with each request, which a [`Guard`](crate::Guard) gives.
    pub fn router(self) -> Router {
        Router::new().with_state(self.engine)
    }
}
