//! What lies in a session's memory, and why it is found: for people who look into it.

use axum::Router;
use memory_engine::MemoryEngine;

/// What lies in a session's memory, and why it is found: for people who look into it.
#[derive(Debug, Clone)]
#[must_use]
pub struct Debugging {
    engine: MemoryEngine,
}

impl Debugging {
    /// Over this memory.
    pub fn new(engine: MemoryEngine) -> Self {
        Self { engine }
    }

    /// Its routes. They want an [`Access`](crate::Access) with each request, which a [`Guard`](crate::Guard) gives.
    pub fn router(self) -> Router {
        Router::new().with_state(self.engine)
    }
}
