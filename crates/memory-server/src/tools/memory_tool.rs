//! Anthropic's memory tool, `POST /v1/memory-tool`.

use std::sync::Arc;

use axum::{Json, body::Bytes};
use memory_engine_tool_backends::MemoryTool;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::state::{ToolsState, UserMemory, UserQuery};
use crate::{
    fault::Fault,
    headers::UserHeader,
    openapi::{Routes, table},
    request::parse_body,
};

pub(super) fn routes() -> Routes<Arc<ToolsState>> {
    table! {
        Routes::new("memory tool", "Anthropic's memory tool on the memory of a user.");
        post "/v1/memory-tool" => handle, "memoryTool",
            "Executes a command of Anthropic's memory tool (memory_20250818): view, create, str_replace, insert, \
             delete or rename.",
            headers UserHeader, query UserQuery, body Map<String, Value> => ToolAnswer;
    }
}

/// The content of a `tool_result` block.
#[derive(Serialize, JsonSchema)]
struct ToolAnswer {
    /// The text for the model.
    content: String,
    /// True if the command was refused. The text says why.
    is_error: bool,
}

async fn handle(memory: UserMemory, body: Bytes) -> Result<Json<ToolAnswer>, Fault> {
    let command: Value = parse_body(&body, "the input of a tool_use block")?;
    if command["command"] == "view" {
        memory.engine.audit().log_export(&memory.scope, "memory_tool.view").await?;
    }
    let result = MemoryTool::new(memory.engine, memory.scope).call(&command).await?;
    Ok(Json(ToolAnswer { content: result.content, is_error: result.is_error }))
}
