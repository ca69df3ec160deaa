//! Chat completion to Messages reply.

use serde_json::{Value, json};

use crate::{
    error::{DialectError, upstream_message},
    reply::{ChatReply, Item, Usage},
};

/// Converts a chat completion to the reply of `POST /v1/messages`.
///
/// # Errors
///
/// The reply has no message, or the arguments of a tool call are not a JSON object.
pub fn reply(chat: &Value) -> Result<Value, DialectError> {
    let reply = ChatReply::read(chat)?;
    let content =
        reply.items.iter().enumerate().map(|(index, item)| block(index, item)).collect::<Result<Vec<_>, _>>()?;
    let has_calls = reply.items.iter().any(|item| matches!(item, Item::ToolCall { .. }));
    Ok(json!({
        "id": format!("msg_{}", reply.id),
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": content,
        "stop_reason": stop_reason(&reply.finish_reason, has_calls, reply.stop_sequence.is_some()),
        "stop_sequence": reply.stop_sequence,
        "usage": usage(reply.usage),
    }))
}

fn block(index: usize, item: &Item) -> Result<Value, DialectError> {
    let (call_id, name, arguments) = match item {
        Item::Text(text) | Item::Refusal(text) => return Ok(json!({"type": "text", "text": text})),
        Item::ToolCall { call_id, name, arguments } => (call_id, name, arguments),
    };
    let text = if arguments.trim().is_empty() { "{}" } else { arguments };
    let input = serde_json::from_str(text).ok().filter(Value::is_object);
    let path = format!("choices[0].message: arguments of item {index}");
    let input = input.ok_or_else(|| DialectError::invalid(path, "a JSON object in the reply of the upstream"))?;
    Ok(json!({"type": "tool_use", "id": call_id, "name": name, "input": input}))
}

pub(super) fn stop_reason(finish_reason: &str, has_calls: bool, has_stop_sequence: bool) -> &'static str {
    match finish_reason {
        "length" => "max_tokens",
        "content_filter" => "refusal",
        // Some upstreams end a reply with tool calls with `stop`.
        _ if has_calls => "tool_use",
        _ if has_stop_sequence => "stop_sequence",
        _ => "end_turn",
    }
}

pub(super) fn usage(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.prompt.saturating_sub(usage.cached),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached,
        "output_tokens": usage.completion,
    })
}

/// Converts the error body of a chat upstream. `status` is the HTTP status, which the caller keeps.
#[must_use]
pub fn error(status: u16, chat: &Value) -> Value {
    let kind = match status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        408 | 504 => "timeout_error",
        409 => "conflict_error",
        429 => "rate_limit_error",
        503 | 529 => "overloaded_error",
        400..=499 => "invalid_request_error",
        _ => "api_error",
    };
    json!({"type": "error", "error": {"type": kind, "message": upstream_message(chat)}})
}
