//! OpenAI's responses.

use std::ops::Range;

use axum::body::Bytes;
use memory_engine_intake::without_lone_surrogates;
use serde_json::{Value, json, value::RawValue};

use crate::gateway::{
    json::{Edit, append_paragraph, content_texts, json_string},
    reply::ReplyAccumulator,
    thread::{ChatMessage, Speaker},
};

/// Items with which the model calls a tool of the client. Its final answer is then another reply.
const TOOL_CALLS: [&str; 7] = [
    "function_call",
    "custom_tool_call",
    "computer_call",
    "local_shell_call",
    "shell_call",
    "apply_patch_call",
    "mcp_approval_request",
];

pub(super) fn error_event(message: &str) -> String {
    let body = json!({ "type": "error", "code": "stream_broken", "message": message, "param": null });
    format!("event: error\ndata: {body}\n\n")
}

/// Adds the data of an event.
pub(super) fn add_event(reply: &mut ReplyAccumulator, data: &str) -> bool {
    let Ok(event) = serde_json::from_str::<Value>(&without_lone_surrogates(data)) else { return false };
    if let Some(id) = event["response"]["id"].as_str() {
        reply.set_response_id(id);
    }
    if let Some(id) = event["item"]["id"].as_str() {
        reply.add_stored_id(id);
    }
    reply.add_usage(&event["response"]["usage"]);
    let part = (event["output_index"].as_u64().unwrap_or(0), event["content_index"].as_u64().unwrap_or(0));
    match event["type"].as_str().unwrap_or_default() {
        "response.output_text.delta" => reply.append_part(part, event["delta"].as_str().unwrap_or_default()),
        "response.output_item.added" | "response.output_item.done" if is_tool_call(&event["item"]) => {
            reply.set_calls_tools();
        }
        "response.completed" | "response.incomplete" => reply.set_done(),
        "response.failed" | "error" => reply.set_failed(),
        _ => {}
    }
    true
}

/// Adds a reply that is not streamed. A reply that is made in the background is not complete.
pub(super) fn add_body(reply: &mut ReplyAccumulator, body: &Bytes) {
    let text = String::from_utf8_lossy(body);
    let Ok(response) = serde_json::from_str::<Value>(&without_lone_surrogates(&text)) else { return };
    if let Some(id) = response["id"].as_str() {
        reply.set_response_id(id);
    }
    reply.add_usage(&response["usage"]);
    for (index, item) in (0..).zip(response["output"].as_array().into_iter().flatten()) {
        if let Some(id) = item["id"].as_str() {
            reply.add_stored_id(id);
        }
        if is_tool_call(item) {
            reply.set_calls_tools();
        }
        for (part, content) in (0..).zip(item["content"].as_array().into_iter().flatten()) {
            if item["type"] == "message" {
                reply.append_part((index, part), content["text"].as_str().unwrap_or_default());
            }
        }
    }
    match response["status"].as_str() {
        Some("completed" | "incomplete") => reply.set_done(),
        Some("failed") => reply.set_failed(),
        _ => {}
    }
}

fn is_tool_call(item: &Value) -> bool {
    item["type"].as_str().is_some_and(|kind| TOOL_CALLS.contains(&kind))
}

/// Returns the ids of stored items that `input` names in place of their content. The type of a reference may be left
/// out.
pub(super) fn referenced_ids(raw: &RawValue) -> Vec<String> {
    let input: Value = serde_json::from_str(&without_lone_surrogates(raw.get())).unwrap_or_default();
    let is_reference =
        |item: &&Value| item["type"] == "item_reference" || (item["type"].is_null() && item["content"].is_null());
    let items = input.as_array().into_iter().flatten().filter(is_reference);
    items.filter_map(|item| item["id"].as_str().map(str::to_owned)).collect()
}

/// Reads the messages in `input`; `None` if it is neither a text nor a list of items.
pub(super) fn read_messages(raw: &RawValue) -> Option<Vec<ChatMessage>> {
    let input: Value = serde_json::from_str(&without_lone_surrogates(raw.get())).ok()?;
    let mut list: Vec<ChatMessage> = match &input {
        Value::String(text) => {
            vec![ChatMessage::new(Speaker::User, text)]
        }
        Value::Array(items) => items.iter().filter(|item| item["type"] != "reasoning").map(chat_message).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
    };
    // A text before a call is in the same reply.
    let mut is_before_call = false;
    for message in list.iter_mut().rev() {
        let is_assistant = message.speaker == Speaker::Assistant;
        message.calls_tools |= is_assistant && is_before_call;
        is_before_call = is_assistant && message.calls_tools;
    }
    Some(list)
}

/// Reads the message in an item of `input`.
pub(super) fn chat_message(item: &Value) -> ChatMessage {
    let kind = item["type"].as_str().unwrap_or("message");
    let calls_tools = is_tool_call(item);
    let speaker = match kind {
        "message" => Speaker::of(item["role"].as_str().unwrap_or_default()),
        _ if calls_tools => Speaker::Assistant,
        _ if kind.ends_with("_output") || kind == "mcp_approval_response" => Speaker::Tool,
        _ => Speaker::Unknown,
    };
    ChatMessage { speaker, texts: content_texts(&item["content"].to_string()), calls_tools }
}

/// Returns the edit that appends the block to `instructions`, after a blank line; `None` for a value that is neither a
/// text nor null, which is left to the service to refuse. `instructions` is its range in the body.
pub(super) fn inject_block(body: &str, instructions: Range<usize>, block: &str) -> Option<Edit> {
    match &body[instructions.clone()] {
        "null" => Some(Edit { range: instructions, text: json_string(block) }),
        text if text.starts_with('"') => Some(append_paragraph(body, instructions, block)),
        _ => None,
    }
}
