//! What lies in a session's memory, and why it is found: for people who look into it.

mod reindex;
mod search;
mod session;
mod stats;

use axum::{
    Router,
    http::{Method, StatusCode},
    routing::{get, post},
};
use memory_engine::MemoryEngine;

use crate::fault::Fault;

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
        Router::new()
            .route("/api/memory/{session_id}/reindex", post(reindex::begin))
            .route("/api/memory/{session_id}/reindex/{id}", get(reindex::progress))
            .route("/api/memory/{session_id}/stats", get(stats::show))
            .route("/api/memory/{session_id}/search", get(search::by_url).post(search::by_body))
            .method_not_allowed_fallback(async |method: Method| {
                Fault::new(StatusCode::METHOD_NOT_ALLOWED, format!("{method} is not for this path"))
            })
            .with_state(self.engine)
    }
}
