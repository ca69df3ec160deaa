//! The OpenAI-compatible chat gateway: memories go into the prompt, and what was said into the memory.

use axum::Router;
use memory_engine::MemoryEngine;

/// The OpenAI-compatible chat gateway: memories go into the prompt, and what was said into the memory.
#[derive(Debug, Clone)]
#[must_use]
pub struct Gateway {
    engine: MemoryEngine,
}

impl Gateway {
    /// Over this memory.
    pub fn new(engine: MemoryEngine) -> Self {
        Self { engine }
    }

    /// Its routes. They want an [`Access`](crate::Access) with each request, which a [`Guard`](crate::Guard) gives.
    pub fn router(self) -> Router {
        Router::new().with_state(self.engine)
    }
}
