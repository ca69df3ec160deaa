//! `init_context`.

use std::ops::RangeInclusive;

use memory_engine::{Result, context::OpeningContext};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::support::{ToolContext, build_tool, check_range, check_scene, parse_arguments, read_only, to_result};
use crate::mcp::{caller::Caller, markdown::NO_MEMORIES_TEXT};

pub(super) const NAME: &str = "init_context";
const TOKEN_BUDGET_RANGE: RangeInclusive<i64> = 100..=100_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Only memories of this conversation; leave out, or write *, for all conversations of the user
    #[serde(default)]
    session_id: String,
    /// The user, unless the server's address names one
    #[serde(default)]
    user_id: String,
    /// The scene of the conversation, such as daily, plot or meta: only memories visible from it are returned
    #[serde(default)]
    scene: String,
    /// Maximum number of tokens of the context
    #[serde(default = "default_token_budget")]
    #[schemars(range(min = 100, max = 100_000))]
    token_budget: i64,
}

fn default_token_budget() -> i64 {
    1200
}

#[derive(Serialize, JsonSchema)]
struct ContextResult {
    /// The text for the prompt; empty if there are no memories
    context: String,
    /// The ids of the memories in the text, in the order of the text
    memories: Vec<String>,
    /// Number of tokens of the text; the estimate is rather too high than too low
    tokens: usize,
}

pub(super) fn tool() -> Tool {
    let description = "Returns a text to begin a conversation with: the user's profile, facts about the user, \
        summaries of earlier conversations, and the latest messages, within a budget of tokens. \
        Call it once, at the beginning of a conversation; for a question, use search_memory.";
    build_tool::<Arguments, ContextResult>(NAME, "Load the context of a conversation", description, read_only())
}

pub(super) async fn call(memory: &ToolContext, caller: &Caller, arguments: JsonObject) -> Result<CallToolResult> {
    let arguments: Arguments = parse_arguments(NAME, arguments)?;
    let scope = caller.scope(&arguments.user_id, &arguments.session_id)?;
    let budget = check_range(NAME, "token_budget", arguments.token_budget, TOKEN_BUDGET_RANGE)?;
    let scene = Some(arguments.scene.trim()).filter(|scene| !scene.is_empty());
    if let Some(scene) = scene {
        check_scene(NAME, &memory.engine, &scope, scene).await?;
    }
    let opening = OpeningContext::load(&memory.engine, &scope, scene).await?;
    let now = memory.engine.settings().clock().now();
    let rendered = opening.render(budget, now, &memory.zone(), memory.counter.as_ref())?;
    let text = if rendered.text.is_empty() { NO_MEMORIES_TEXT.to_owned() } else { rendered.text.clone() };
    let memories = rendered.records.iter().map(ToString::to_string).collect();
    let mut result = to_result(&ContextResult { context: rendered.text, memories, tokens: rendered.tokens })?;
    // Hosts without structured content show this text.
    result.content = vec![ContentBlock::text(text)];
    Ok(result)
}
