//! mem0's REST routes.

use axum::Router;
use memory_engine::MemoryEngine;

/// mem0's REST routes.
#[derive(Debug, Clone)]
#[must_use]
pub struct Mem0 {
    engine: MemoryEngine,
}

impl Mem0 {
    /// Over this memory.
    pub fn new(engine: MemoryEngine) -> Self {
        Self { engine }
    }

    /// Its routes. They want an [`Access`](crate::Access) with each request, which a [`Guard`](crate::Guard) gives.
    pub fn router(self) -> Router {
        Router::new().with_state(self.engine)
    }
}
