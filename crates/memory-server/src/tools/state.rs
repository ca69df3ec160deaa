//! The state of the routes of the part `tools`.

use std::sync::Arc;

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, request::Parts},
};
use memory_engine::{MemoryEngine, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{access::Access, fault::Fault, headers::user_scope, request::parse_query};

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

/// The memory of the user that a request names in a header or in the URL. The key has access to it.
#[derive(Debug)]
pub(super) struct UserMemory {
    pub(super) engine: MemoryEngine,
    pub(super) scope: Scope,
}

impl FromRequestParts<Arc<ToolsState>> for UserMemory {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, tools: &Arc<ToolsState>) -> Result<Self, Fault> {
        let access = <Access as FromRequestParts<Arc<ToolsState>>>::from_request_parts(parts, tools).await?;
        let scope = tools.scope(&access, &parts.headers, &parse_query(&parts.uri)?)?;
        Ok(Self { engine: tools.engine.clone(), scope })
    }
}
