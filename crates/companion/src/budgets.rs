//! Token budgets of the layers of a context.

use serde::{Deserialize, Serialize};

/// Maximum number of tokens of each layer and of the whole context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Budgets {
    /// The whole context. Default: 15 000.
    pub limit: usize,
    /// The persona, which is never cut. Default: 1000.
    pub persona: usize,
    /// The description of the current stage. Default: 500.
    pub stage: usize,
    /// The profile of the user. Default: 500.
    pub profile: usize,
    /// The key moments. Default: 2000.
    pub key_memories: usize,
    /// The recent conversation. Default: 5000.
    pub recent: usize,
    /// Earlier messages related to the new one. Default: 3000.
    pub related: usize,
}

impl Default for Budgets {
    fn default() -> Self {
        Self { limit: 15_000, persona: 1000, stage: 500, profile: 500, key_memories: 2000, recent: 5000, related: 3000 }
    }
}

impl Budgets {
    /// Sets the limit of the whole context.
    #[must_use]
    pub fn with_limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }
}
