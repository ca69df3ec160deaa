//! The state of the routes of the part `tools`.

use axum::http::HeaderMap;
use memory_engine::{MemoryEngine, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{access::Access, fault::Fault, headers::user_scope};

/// The memory, and the user of requests that name none.
#[derive(Debug, Clone)]
pub(super) struct ToolsState {
    pub(super) engine: MemoryEngine,
    pub(super) default_user: String,
}

impl ToolsState {
    /// Returns the scope of the user that a request names.
    pub(super) fn scope(&self, access: &Access, headers: &HeaderMap, query: &UserQuery) -> Result<Scope, Fault> {
        user_scope(access, headers, &query.user_id, &self.default_user)
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct UserQuery {
    /// The user. Default: the only user of the key, or the user of the configuration.
    #[serde(default)]
    pub(super) user_id: String,
}
