//! `update_memory`.

use memory_engine::{PutMode, Result};
use rmcp::model::{CallToolResult, JsonObject, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

use super::support::{ToolContext, answer, described, found, read, writes};
use crate::mcp::{caller::Caller, memory::Memory};

pub(super) const NAME: &str = "update_memory";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Its id, as search_memory gives it
    id: String,
    /// The new text
    text: String,
    /// The user, unless the server's address names one
    #[serde(default)]
    user_id: String,
}

pub(super) fn tool() -> Tool {
    let description = "Corrects what a memory says. What was derived from the old text is withdrawn with it. \
        When something has changed in the world, add a new memory instead: the old one was true in its time.";
    described::<Arguments, Memory>(NAME, "Correct a memory", description, writes(true, true))
}

pub(super) async fn call(memory: &ToolContext, caller: &Caller, arguments: JsonObject) -> Result<CallToolResult> {
    let given: Arguments = read(NAME, arguments)?;
    let scope = caller.person(&given.user_id)?;
    let mut record = found(NAME, &memory.engine, &scope, &given.id).await?;
    record.text = given.text;
    // At its revision: of two corrections at once the second one is refused, and nothing lost unseen.
    let mode = PutMode::Update { revision: record.revision };
    memory.engine.store(&scope, vec![record.clone()], mode).await?;
    answer(&Memory::from(&record))
}
