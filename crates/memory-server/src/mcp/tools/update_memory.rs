//! `update_memory`.

use memory_engine::{Error, PutMode, Result, retention::RecordPatch, review::ReviewSource};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

use super::support::{ToolContext, build_tool, find_memory, parse_arguments, to_result, writes};
use crate::mcp::{caller::Caller, memory::Memory};

pub(super) const NAME: &str = "update_memory";
/// The note in the result if the new text waits for a review.
const PENDING_NOTE: &str = "The new text waits until a person accepts it; the memory stays as it is until then.";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The id of the memory as returned by search_memory, such as 0198c0de-0000-7000-8000-000000000000
    id: String,
    /// The new text, such as: Lin is allergic to shrimp, but not to fish
    #[serde(default)]
    text: String,
    /// True to show it in every conversation and never let it expire; false to stop that
    pinned: Option<bool>,
    /// The user, unless the server's address names one
    #[serde(default)]
    user_id: String,
}

pub(super) fn tool() -> Tool {
    let description = "Corrects the text of a memory, or pins it. Everything derived from the old text is deleted. \
        If something has changed in the world, add a new memory instead: the old one was true in its time.";
    build_tool::<Arguments, Memory>(NAME, "Correct a memory", description, writes(true, true))
}

pub(super) async fn call(memory: &ToolContext, caller: &Caller, arguments: JsonObject) -> Result<CallToolResult> {
    let arguments: Arguments = parse_arguments(NAME, arguments)?;
    let scope = caller.user_scope(&arguments.user_id)?;
    let mut record = find_memory(NAME, &memory.engine, &scope, &arguments.id).await?;
    if arguments.text.trim().is_empty() && arguments.pinned.is_none() {
        return Err(Error::invalid(NAME, "it changes nothing; give a text, or pinned"));
    }
    let mut is_pending = false;
    if !arguments.text.trim().is_empty() {
        let mut changed = record.clone();
        changed.text = arguments.text;
        // If two clients correct a memory at the same time, the second one is refused.
        let mode = PutMode::Update { revision: record.revision };
        let review = memory.engine.review();
        let stored = review.store_from(ReviewSource::Tools, &scope, vec![changed.clone()], mode).await?;
        is_pending = stored.iter().any(|stored| stored.is_pending);
        if !is_pending {
            record = changed;
        }
    }
    if let Some(pinned) = arguments.pinned {
        memory.engine.patch(&scope, &[record.id], RecordPatch::default().pinned(pinned)).await?;
    }
    let mut result = to_result(&Memory::from(&record))?;
    if is_pending {
        result.content.push(ContentBlock::text(PENDING_NOTE));
    }
    Ok(result)
}
