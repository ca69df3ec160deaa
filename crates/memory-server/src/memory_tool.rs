//! Anthropic's memory tool.

use std::sync::Arc;

use axum::{
    Json, Router,
    body::Bytes,
    extract::{Query, State, rejection::QueryRejection},
    http::HeaderMap,
    response::IntoResponse,
};
use memory_engine::{MemoryEngine, Result};
use memory_engine_memory_tool::MemoryTool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    access::Access,
    config::Config,
    fault::Fault,
    headers::user_scope,
    openapi::{ApiOperation, Routes},
    part::ServerPart,
    server::Server,
};

/// Anthropic's memory tool, `POST /v1/memory-tool`: executes the commands of the model on files that are records of the
/// user's memory.
#[derive(Debug, Clone)]
#[must_use]
pub struct MemoryToolApi {
    engine: MemoryEngine,
    default_user: String,
}

impl MemoryToolApi {
    /// Creates the route over a memory.
    pub fn new(engine: MemoryEngine) -> Self {
        Self { engine, default_user: "default".into() }
    }

    /// Sets the user of requests that name none, for keys of all users. Default: `default`.
    pub fn with_user(mut self, user: impl Into<String>) -> Self {
        self.default_user = user.into();
        self
    }

    /// Returns the routes. Each request needs an [`Access`](crate::Access), which a [`Guard`](crate::Guard) adds.
    pub fn router(self) -> Router {
        self.part().router
    }

    pub(crate) fn part(self) -> ServerPart {
        let (router, section) = routes().finish();
        let router = router.with_state(Arc::new(self));
        let errors = Fault::into_response;
        ServerPart { name: "memory_tool", router, sections: vec![section], errors, background: None }
    }
}

impl Server {
    /// Adds Anthropic's memory tool.
    pub fn memory_tool(self, api: MemoryToolApi) -> Self {
        self.with_part(api.part())
    }
}

/// Builds the part unless the configuration switches it off.
pub(crate) fn build(
    config: &Config,
    engine: &MemoryEngine,
    _: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<ServerPart>> {
    let api = || MemoryToolApi::new(engine.clone()).with_user(&config.user);
    Ok(config.memory_tool.enabled.then(|| api().part()))
}

fn routes() -> Routes<Arc<MemoryToolApi>> {
    let call = ApiOperation::new(
        "memoryTool",
        "Executes a command of Anthropic's memory tool (memory_20250818): view, create, str_replace, insert, delete or \
         rename.",
    );
    let call = call.query::<ToolQuery>().headers::<UserHeader>().body::<Map<String, Value>>().answer::<ToolAnswer>();
    Routes::new("memory tool", "Anthropic's memory tool on the memory of a user.").post("/v1/memory-tool", handle, call)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ToolQuery {
    /// The user. Default: the only user of the key, or the user of the configuration.
    #[serde(default)]
    user_id: String,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes a header")]
struct UserHeader {
    /// The user, percent-encoded. It takes precedence over the URL.
    #[schemars(rename = "X-User-Id")]
    user: Option<String>,
}

/// The content of a `tool_result` block.
#[derive(Serialize, JsonSchema)]
struct ToolAnswer {
    /// The text for the model.
    content: String,
    /// True if the command was refused. The text says why.
    is_error: bool,
}

async fn handle(
    State(api): State<Arc<MemoryToolApi>>,
    access: Access,
    query: Result<Query<ToolQuery>, QueryRejection>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<ToolAnswer>, Fault> {
    let Query(query) = query.map_err(|error| Fault::bad_request(error.body_text()))?;
    let command: Value = serde_json::from_slice(&body).map_err(|error| {
        Fault::bad_request(format!("the body is not JSON: {error}; send the input of a tool_use block"))
    })?;
    let scope = user_scope(&access, &headers, &query.user_id, &api.default_user)?;
    let result = MemoryTool::new(api.engine.clone(), scope).call(&command).await?;
    Ok(Json(ToolAnswer { content: result.content, is_error: result.is_error }))
}
