//! The review of memories before they count.

mod api;

use memory_engine::{MemoryEngine, Result};

use crate::{
    config::{Config, Variables},
    part::ServerPart,
    server::Server,
};

/// The routes under `/api/review`: list the memories that wait for a review, accept, reject and edit them.
#[derive(Debug, Clone)]
#[must_use]
pub struct Reviews {
    engine: MemoryEngine,
}

impl Reviews {
    /// Creates the routes over a memory.
    pub fn new(engine: MemoryEngine) -> Self {
        Self { engine }
    }

    pub(crate) fn part(self) -> ServerPart {
        ServerPart::new("review", api::routes(), self.engine)
    }
}

impl Server {
    /// Adds the review of memories under `/api/review`.
    pub fn reviews(self, reviews: Reviews) -> Self {
        self.with_part(reviews.part())
    }
}

/// Builds the part unless the configuration switches it off.
pub(crate) fn build(config: &Config, engine: &MemoryEngine, _: Variables<'_>) -> Result<Option<ServerPart>> {
    Ok(config.review_api.enabled.then(|| Reviews::new(engine.clone()).part()))
}
