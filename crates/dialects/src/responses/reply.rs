//! Chat completion to Responses reply.

use serde_json::{Map, Value, json};

use crate::{
    error::{DialectError, upstream_message},
    fields::optional,
    reply::{ChatReply, Item, Usage},
};

/// Fields of the request that the reply repeats.
const ECHOED_FIELDS: &[&str] = &[
    "instructions",
    "max_output_tokens",
    "metadata",
    "parallel_tool_calls",
    "reasoning",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_p",
    "user",
];

/// Converts a chat completion to the reply of `POST /v1/responses`. `request` is the request of the client.
///
/// # Errors
///
/// The reply has no message, or a tool call has no name.
pub fn reply(request: &Value, chat: &Value) -> Result<Value, DialectError> {
    let reply = ChatReply::read(chat)?;
    let incomplete = incomplete_reason(&reply.finish_reason);
    let status = if incomplete.is_some() { "incomplete" } else { "completed" };
    let items = reply.items.iter().enumerate();
    let output = items.map(|(index, item)| output_item(&reply.id, index, item, status)).collect();
    let mut response = response(&echo(request), &reply.id, &reply.model, reply.created, status);
    response["output"] = Value::Array(output);
    response["incomplete_details"] = json!(incomplete.map(|reason| json!({"reason": reason})));
    response["usage"] = usage(reply.usage);
    Ok(response)
}

/// The fields that a reply repeats, with defaults for those that it must have.
pub(super) fn echo(request: &Value) -> Map<String, Value> {
    let defaults = [
        ("instructions", Value::Null),
        ("metadata", json!({})),
        ("parallel_tool_calls", json!(true)),
        ("tool_choice", json!("auto")),
        ("tools", json!([])),
    ];
    let mut echo: Map<String, Value> = defaults.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    for key in ECHOED_FIELDS {
        if let Some(value) = optional(request, key) {
            echo.insert((*key).to_owned(), value.clone());
        }
    }
    echo
}

/// A response without output and usage.
pub(super) fn response(echo: &Map<String, Value>, id: &str, model: &str, created: u64, status: &str) -> Value {
    let mut response = json!({
        "id": format!("resp_{id}"),
        "object": "response",
        "created_at": created,
        "status": status,
        "error": null,
        "incomplete_details": null,
        "model": model,
        "output": [],
        "previous_response_id": null,
        "store": false,
        "usage": null,
    });
    for (key, value) in echo {
        response[key] = value.clone();
    }
    response
}

pub(super) fn incomplete_reason(finish_reason: &str) -> Option<&'static str> {
    match finish_reason {
        "length" => Some("max_output_tokens"),
        "content_filter" => Some("content_filter"),
        _ => None,
    }
}

pub(super) fn item_id(id: &str, index: usize, item: &Item) -> String {
    let prefix = if matches!(item, Item::ToolCall { .. }) { "fc" } else { "msg" };
    format!("{prefix}_{id}_{index}")
}

pub(super) fn output_item(id: &str, index: usize, item: &Item, status: &str) -> Value {
    let item_id = item_id(id, index, item);
    if let Item::ToolCall { call_id, name, arguments } = item {
        return json!({
            "type": "function_call",
            "id": item_id,
            "call_id": call_id,
            "name": name,
            "arguments": arguments,
            "status": status,
        });
    }
    json!({"type": "message", "id": item_id, "role": "assistant", "status": status, "content": [content_part(item)]})
}

/// The only content part of a message.
pub(super) fn content_part(item: &Item) -> Value {
    match item {
        Item::Refusal(text) => json!({"type": "refusal", "refusal": text}),
        Item::Text(text) | Item::ToolCall { arguments: text, .. } => {
            json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
        }
    }
}

pub(super) fn usage(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.prompt,
        "input_tokens_details": {"cached_tokens": usage.cached, "cache_write_tokens": 0},
        "output_tokens": usage.completion,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.prompt + usage.completion,
    })
}

/// Converts the error body of a chat upstream. `status` is the HTTP status, which the caller keeps. Type, parameter and
/// code of the upstream are kept.
#[must_use]
pub fn error(status: u16, chat: &Value) -> Value {
    let kind = match status {
        429 => "rate_limit_error",
        400..=499 => "invalid_request_error",
        _ => "server_error",
    };
    let details = &chat["error"];
    json!({"error": {
        "message": upstream_message(chat),
        "type": details["type"].as_str().unwrap_or(kind),
        "param": details["param"],
        "code": details["code"],
    }})
}
