//! `get_memory`.

use memory_engine::Result;
use rmcp::model::{CallToolResult, JsonObject, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

use super::support::{ToolContext, build_tool, find_memory, parse_arguments, read_only, to_result};
use crate::mcp::{caller::Caller, memory::Memory};

pub(super) const NAME: &str = "get_memory";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The id of the memory as returned by search_memory, such as 0198c0de-0000-7000-8000-000000000000
    id: String,
    /// The user, unless the server's address names one
    #[serde(default)]
    user_id: String,
}

pub(super) fn tool() -> Tool {
    let description = "Returns the memory with this id. If you have no id, use search_memory.";
    build_tool::<Arguments, Memory>(NAME, "Show a memory", description, read_only())
}

pub(super) async fn call(memory: &ToolContext, caller: &Caller, arguments: JsonObject) -> Result<CallToolResult> {
    let arguments: Arguments = parse_arguments(NAME, arguments)?;
    let scope = caller.user_scope(&arguments.user_id)?;
    to_result(&Memory::from(&find_memory(NAME, &memory.engine, &scope, &arguments.id).await?))
}
