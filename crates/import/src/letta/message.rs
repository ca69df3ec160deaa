//! Messages of an agent file.

use jiff::civil::DateTime;
use memory_engine_intake::prompt_words;
use serde_json::{Map, Value};

use crate::{
    error::RowError,
    row::{ImportedTurn, convert_time, take_first},
};

/// The tool whose argument an agent says to the user. Its other text is a thought.
const SEND_MESSAGE: &str = "send_message";
/// Beginnings of the messages that a new agent has before its first conversation.
const BOOT_MESSAGES: [&str; 2] = ["Boot sequence complete.", "Bootup sequence complete."];

/// Returns the turn of a message, or `None` if it is not the words of a participant.
pub(super) fn read(keys: &Map<String, Value>) -> Result<Option<ImportedTurn>, RowError> {
    let Some(role) = keys.get("role").and_then(Value::as_str) else {
        return Err(RowError::WrongType { key: "role", expected: "text" });
    };
    let mut turn = ImportedTurn::default();
    let text = match role {
        "user" => read_prompt(keys, &mut turn),
        "assistant" => read_reply(keys),
        _ => None,
    };
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else { return Ok(None) };
    turn.set("text", text);
    turn.set("role", role);
    turn.set("session", keys.get("conversation_id").cloned().unwrap_or_default());
    let mut keys = keys.clone();
    turn.set("time", take_first(&mut keys, &["created_at"]).map(utc_time));
    Ok(Some(turn))
}

/// Returns a time of Letta in the format of JSON Lines. Older files have times in UTC without a zone.
pub(super) fn utc_time(time: Value) -> Value {
    match time.as_str() {
        Some(text) if text.parse::<jiff::Timestamp>().is_err() && text.parse::<DateTime>().is_ok() => {
            format!("{text}Z").into()
        }
        _ => convert_time(&time),
    }
}

fn read_prompt(keys: &Map<String, Value>, turn: &mut ImportedTurn) -> Option<String> {
    let text = content_text(keys)?;
    if let Some(name) = keys.get("name").and_then(Value::as_str) {
        turn.set("speaker", name);
    }
    let Some(mut package) = package(&text) else { return prompt_words(&text) };
    if package.get("type").and_then(Value::as_str) != Some("user_message") {
        return None;
    }
    if let Some(name) = take_first(&mut package, &["name"]) {
        turn.set("speaker", name);
    }
    prompt_words(package.get("message")?.as_str()?)
}

/// Returns the JSON object in which older versions of Letta put the words of a user, a heartbeat, a login or a notice.
fn package(text: &str) -> Option<Map<String, Value>> {
    let text = text.trim();
    let package: Map<String, Value> = text.starts_with('{').then(|| serde_json::from_str(text).ok())??;
    (package.get("type").is_some_and(Value::is_string) && package.contains_key("time")).then_some(package)
}

/// Returns what an agent said: the arguments of its calls of [`SEND_MESSAGE`], or the text of a message without calls.
fn read_reply(keys: &Map<String, Value>) -> Option<String> {
    let calls: Vec<(&str, Option<String>)> = tool_calls(keys).collect();
    if !calls.is_empty() {
        let said = calls.into_iter().filter(|(name, _)| *name == SEND_MESSAGE).filter_map(|(_, message)| message);
        let said: Vec<String> = said.collect();
        let is_boot = content_text(keys).is_some_and(|thought| is_boot_message(&thought));
        return (!is_boot).then(|| said.join("\n"));
    }
    content_text(keys).filter(|text| !is_boot_message(text))
}

fn is_boot_message(text: &str) -> bool {
    BOOT_MESSAGES.iter().any(|beginning| text.trim_start().starts_with(beginning))
}

/// Returns the names of the called tools, each with its argument `message`.
fn tool_calls(keys: &Map<String, Value>) -> impl Iterator<Item = (&str, Option<String>)> {
    let message = |arguments: &Value| Some(arguments.get("message")?.as_str()?.to_owned());
    let list = |key: &str| keys.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let calls = list("tool_calls").iter().filter_map(move |call| {
        let function = call.get("function")?;
        let arguments = function.get("arguments").and_then(Value::as_str).unwrap_or_default();
        let arguments = serde_json::from_str::<Value>(arguments).unwrap_or_default();
        Some((function.get("name")?.as_str()?, message(&arguments)))
    });
    let is_call = |part: &&Value| part.get("type").and_then(Value::as_str) == Some("tool_call");
    let mut parts = list("content").iter().filter(is_call).peekable();
    // A message may have its calls twice, in both forms.
    let has_parts = parts.peek().is_some();
    let parts = parts.filter_map(move |part| Some((part.get("name")?.as_str()?, message(part.get("input")?))));
    parts.chain(calls.filter(move |_| !has_parts))
}

/// Returns the texts of a message, without images, thoughts, and calls and results of tools.
fn content_text(keys: &Map<String, Value>) -> Option<String> {
    let content = keys.get("content").or_else(|| keys.get("text"))?;
    if let Some(text) = content.as_str() {
        return Some(text.to_owned());
    }
    let is_text = |part: &&Value| part.get("type").and_then(Value::as_str) == Some("text");
    let texts = content.as_array()?.iter().filter(is_text).filter_map(|part| part.get("text")?.as_str());
    Some(texts.collect::<Vec<_>>().join("\n"))
}
