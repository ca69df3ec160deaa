//! `add_memory`.

use memory_engine::{
    Error, Result, Role, State, Turn,
    requests::{ChatCommand, MemoryRequest},
    review::{ReviewMode, ReviewSource},
};
use memory_engine_intake::{IncomingWords, model_words, note_words};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

use super::support::{ToolContext, build_tool, find_memory, parse_arguments, to_result, writes};
use crate::mcp::{caller::Caller, memory::Memory};

pub(super) const NAME: &str = "add_memory";
/// The note in the result if the memory waits for a review.
const PENDING_NOTE: &str = "The memory waits until a person accepts it; searches do not find it before.";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The text to remember, in one or two self-contained sentences, such as: Lin is allergic to shrimp
    text: String,
    /// The speaker if the text is a literal quote; leave out for a note of your own
    #[serde(default)]
    #[schemars(extend("enum" = [Role::USER.as_str(), Role::ASSISTANT.as_str()]))]
    role: String,
    /// The scene that the memory belongs to, such as daily or plot
    #[serde(default)]
    scene: String,
    /// The conversation that the memory belongs to; leave out, or write *, for all conversations
    #[serde(default)]
    session_id: String,
    /// The user, unless the server's address names one
    #[serde(default)]
    user_id: String,
}

pub(super) fn tool() -> Tool {
    let description = "Stores something about the user, or something that was said. Searches find it at once. \
        Store what will matter later: preferences, plans, people, decisions. Do not store secrets, or anything that \
        search_memory returned.";
    build_tool::<Arguments, Memory>(NAME, "Remember", description, writes(false, false))
}

/// Refuses a text without words of its speaker. The engine refuses a blank text itself.
fn require_words(text: &str, words: Option<String>) -> Result<String> {
    let words = words.filter(|words| !words.trim().is_empty());
    words.or_else(|| text.trim().is_empty().then(|| text.to_owned())).ok_or_else(|| {
        let message = "text has no words of the user or the model: it is a task of a program, memories that were \
            injected, thoughts, or what an agent added; send what was said";
        Error::invalid(NAME, message)
    })
}

pub(super) async fn call(memory: &ToolContext, caller: &Caller, arguments: JsonObject) -> Result<CallToolResult> {
    let arguments: Arguments = parse_arguments(NAME, arguments)?;
    let scope = caller.scope(&arguments.user_id, &arguments.session_id)?;
    let text = &arguments.text;
    let turn = match arguments.role.trim() {
        "" => Turn::note(require_words(text, note_words(text))?),
        "user" => {
            let words = require_words(text, IncomingWords::of(text).own_words())?;
            if ChatCommand::find(&memory.commands, &words, None) == Some(MemoryRequest::OffTheRecord) {
                let message = "the user wants this to be off the record; do not store it, also in other words";
                return Err(Error::invalid(NAME, message));
            }
            Turn::user(words)
        }
        "assistant" => Turn::assistant(require_words(text, Some(model_words(text)))?),
        _ => {
            let message = format!("role must be {} or {}, or left out for a note", Role::USER, Role::ASSISTANT);
            return Err(Error::invalid(NAME, message));
        }
    };
    let scene = arguments.scene.trim();
    let turn = if scene.is_empty() { turn } else { turn.with_scene(scene) };
    let engine = &memory.engine;
    let id = engine.review().remember_from(ReviewSource::Tools, &scope, turn).await?;
    if engine.settings().review_policy().mode(ReviewSource::Tools) == ReviewMode::Review
        && let Some(pending) = engine.get(&scope, id).await?.filter(|record| record.state == State::Pending)
    {
        let mut result = to_result(&Memory::from(&pending))?;
        result.content.push(ContentBlock::text(PENDING_NOTE));
        return Ok(result);
    }
    to_result(&Memory::from(&find_memory(NAME, &memory.engine, &scope, &id.to_string()).await?))
}
