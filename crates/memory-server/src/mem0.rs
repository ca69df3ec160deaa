//! mem0's REST routes: those of its open-source server, and those of its platform as new and old clients use them.

mod add;
mod condition;
mod entities;
mod event;
mod failure;
mod fields;
mod filters;
mod history;
mod listing;
mod marks;
mod memory;
mod oss;
mod owner;
mod page;
mod platform;
mod row;
mod search;

use std::time::Duration;

use axum::{Router, middleware::from_fn};
use memory_engine::MemoryEngine;

/// mem0's REST routes: those of its open-source server, and the platform's as its clients of the versions 0.1 to 2 call them,
/// all over one memory. `docs/SERVER.md` has the table, and what differs from mem0.
#[derive(Debug, Clone)]
#[must_use]
pub struct Mem0 {
    engine: MemoryEngine,
    turns: bool,
    patience: Duration,
    hurry: Duration,
}

impl Mem0 {
    /// Over this memory.
    pub fn new(engine: MemoryEngine) -> Self {
        Self { engine, turns: false, patience: Duration::from_secs(10), hurry: Duration::from_millis(1500) }
    }

    /// Whether searches also find the words that were said, and not only what was made of them. Not, by itself; each search can
    /// ask for it (`"include_turns": true`).
    pub fn with_turns(mut self, turns: bool) -> Self {
        self.turns = turns;
        self
    }

    /// How long a request to the open-source routes waits for facts to be found: 10 s. What is not done then is done in the
    /// background.
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// How long a request to the platform's routes waits: 1.5 s. It then says `PENDING`, and the event's route tells the rest.
    pub fn with_hurry(mut self, hurry: Duration) -> Self {
        self.hurry = hurry;
        self
    }

    /// Its routes. They want an [`Access`](crate::Access) with each request, which a [`Guard`](crate::Guard) gives.
    pub fn router(self) -> Router {
        oss::routes().merge(platform::routes()).layer(from_fn(failure::name_the_request)).with_state(self)
    }
}
