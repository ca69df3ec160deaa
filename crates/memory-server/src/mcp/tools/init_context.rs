//! `init_context`.

use std::ops::RangeInclusive;

use memory_engine::Result;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::support::{ToolContext, build_tool, check_range, parse_arguments, read_only, to_result};
use crate::mcp::{caller::Caller, context::OpeningContext};

pub(super) const NAME: &str = "init_context";
const TOKEN_BUDGET_RANGE: RangeInclusive<i64> = 100..=100_000;
/// The text for hosts that show only text, if there are no memories.
const NO_MEMORIES_TEXT: &str = "Nothing is remembered yet.";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Only this conversation; leave it out, or say *, to draw on all conversations of the user
    #[serde(default)]
    session_id: String,
    /// The user, unless the server's address names one
    #[serde(default)]
    user_id: String,
    /// The scene the conversation is in, such as daily, plot or meta: only what may be seen from there is told
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
    /// The text to put before the model; empty when nothing is remembered
    context: String,
    /// The ids of the memories in it, in its order
    memories: Vec<String>,
    /// Number of tokens of the context, estimated on the high side
    tokens: usize,
}

pub(super) fn tool() -> Tool {
    let description = "Gives a text to begin a conversation with: who the user is, what is known of them, \
        summaries of what was talked about, and the latest messages, within a budget of tokens. \
        Call it once, at the beginning of a conversation.";
    build_tool::<Arguments, ContextResult>(NAME, "Load the context of a conversation", description, read_only())
}

pub(super) async fn call(memory: &ToolContext, caller: &Caller, arguments: JsonObject) -> Result<CallToolResult> {
    let arguments: Arguments = parse_arguments(NAME, arguments)?;
    let scope = caller.scope(&arguments.user_id, &arguments.session_id)?;
    let budget = check_range(NAME, "token_budget", arguments.token_budget, TOKEN_BUDGET_RANGE)?;
    let scene = Some(arguments.scene.trim()).filter(|scene| !scene.is_empty());
    let opening = OpeningContext::load(&memory.engine, &scope, scene).await?;
    let (context, ids, tokens) = opening.render(budget, &memory.zone, memory.counter.as_ref())?;
    let text = if context.is_empty() { NO_MEMORIES_TEXT.to_owned() } else { context.clone() };
    let mut result =
        to_result(&ContextResult { context, memories: ids.iter().map(ToString::to_string).collect(), tokens })?;
    // Hosts without structured content show this text.
    result.content = vec![ContentBlock::text(text)];
    Ok(result)
}
