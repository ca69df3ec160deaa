//! `delete_memory`.

use memory_engine::Result;
use rmcp::model::{CallToolResult, JsonObject, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::support::{ToolContext, build_tool, find_memory, parse_arguments, to_result, writes};
use crate::mcp::caller::Caller;

pub(super) const NAME: &str = "delete_memory";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The id of the memory as returned by search_memory, such as 0198c0de-0000-7000-8000-000000000000
    id: String,
    /// The user, unless the server's address names one
    #[serde(default)]
    user_id: String,
}

#[derive(Serialize, JsonSchema)]
struct DeleteResult {
    /// The id of the deleted memory
    id: String,
    /// Number of deleted memories: this one, those that confirm it, and those derived from it
    deleted: u64,
    /// Number of messages that state it, and what was made from them: they are no longer found
    retracted: u64,
}

pub(super) fn tool() -> Tool {
    let description = "Deletes a memory for good, and everything derived from it. \
        Messages that state it are no longer found. Call it only if the user wants the memory deleted; ask them first.";
    build_tool::<Arguments, DeleteResult>(NAME, "Forget", description, writes(true, true))
}

pub(super) async fn call(memory: &ToolContext, caller: &Caller, arguments: JsonObject) -> Result<CallToolResult> {
    let arguments: Arguments = parse_arguments(NAME, arguments)?;
    let scope = caller.user_scope(&arguments.user_id)?;
    let record = find_memory(NAME, &memory.engine, &scope, &arguments.id).await?;
    let report = memory.engine.forget(&record.scope, record.id).await?;
    to_result(&DeleteResult { id: record.id.to_string(), deleted: report.records(), retracted: report.retracted })
}
