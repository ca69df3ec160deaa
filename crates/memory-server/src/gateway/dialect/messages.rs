//! Anthropic's messages.

use std::{collections::BTreeMap, ops::Range};

use axum::{body::Bytes, response::Response};
use memory_engine_intake::{IncomingWords, without_lone_surrogates};
use serde_json::{Value, json, value::RawValue};

use crate::{
    fault::Fault,
    gateway::{
        json::{Edit, append_part, content_texts, json_string, range_of, text_part},
        reply::ReplyAccumulator,
        thread::{ChatMessage, Speaker},
    },
};

/// Returns a fault in the format of Anthropic's API.
pub(super) fn error_response(fault: Fault) -> Response {
    let kind = match fault.status().as_u16() {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        400..500 => "invalid_request_error",
        _ => "api_error",
    };
    let body = error_body(kind, fault.message());
    fault.into_response_with(body)
}

fn error_body(kind: &str, message: &str) -> Value {
    json!({ "type": "error", "error": { "type": kind, "message": message } })
}

pub(super) fn error_event(message: &str) -> String {
    format!("event: error\ndata: {}\n\n", error_body("api_error", message))
}

/// Adds the data of an event.
pub(super) fn add_event(reply: &mut ReplyAccumulator, data: &str) -> bool {
    let Ok(event) = serde_json::from_str::<Value>(&without_lone_surrogates(data)) else { return false };
    reply.add_usage(&event["message"]["usage"]);
    reply.add_usage(&event["usage"]);
    let block = event["index"].as_u64().unwrap_or(0);
    match event["type"].as_str().unwrap_or_default() {
        "content_block_start" => add_content_block(reply, block, &event["content_block"]),
        "content_block_delta" => reply.append_part((block, 0), event["delta"]["text"].as_str().unwrap_or_default()),
        "message_delta" if event["delta"]["stop_reason"].is_string() => reply.set_done(),
        "message_stop" => reply.set_done(),
        "error" => reply.set_failed(),
        _ => {}
    }
    true
}

/// Adds a reply that is not streamed.
pub(super) fn add_body(reply: &mut ReplyAccumulator, body: &Bytes) {
    let text = String::from_utf8_lossy(body);
    let Ok(message) = serde_json::from_str::<Value>(&without_lone_surrogates(&text)) else { return };
    let Some(blocks) = message["content"].as_array().filter(|_| message["type"] == "message") else { return };
    reply.add_usage(&message["usage"]);
    for (index, block) in (0..).zip(blocks) {
        add_content_block(reply, index, block);
    }
    reply.set_done();
}

fn add_content_block(reply: &mut ReplyAccumulator, index: u64, block: &Value) {
    match block["type"].as_str().unwrap_or_default() {
        "text" => reply.append_part((index, 0), block["text"].as_str().unwrap_or_default()),
        // Tools of the server, such as `server_tool_use`, are called within the reply.
        "tool_use" => reply.set_calls_tools(),
        _ => {}
    }
}

/// Reads the list of messages; `None` if the value is not a list. A message with the results of tools continues the
/// exchange, unless a person has added words to them.
pub(super) fn read_messages(raw: &RawValue) -> Option<Vec<ChatMessage>> {
    let list: Vec<Value> = serde_json::from_str(&without_lone_surrogates(raw.get())).ok()?;
    Some(list.iter().map(chat_message).collect())
}

/// Reads a message of the list.
pub(super) fn chat_message(message: &Value) -> ChatMessage {
    let content = &message["content"];
    let has_part = |kind: &str| content.as_array().is_some_and(|parts| parts.iter().any(|part| part["type"] == kind));
    let of_role = Speaker::of(message["role"].as_str().unwrap_or_default());
    let texts = content_texts(&content.to_string());
    // A person may add words to the result of a tool, for example after an interruption. Reminders are no such words.
    let has_words = || matches!(IncomingWords::of_parts(texts.iter().map(String::as_str)), IncomingWords::Own(_));
    let is_tool = of_role == Speaker::User && has_part("tool_result") && !has_words();
    let speaker = if is_tool { Speaker::Tool } else { of_role };
    ChatMessage { speaker, texts, calls_tools: has_part("tool_use") }
}

/// Returns the session in a `metadata.user_id` of Claude Code, which names the device, the account and the session:
/// `user_…_account_…_session_…`, or a JSON object in a string with `device_id`, `account_uuid` and `session_id`.
pub(super) fn session_of_claude_code(user_id: &str) -> Option<String> {
    if let Ok(names) = serde_json::from_str::<Value>(user_id) {
        let is_of_claude_code = names.get("device_id").is_some() || names.get("account_uuid").is_some();
        let session = names.get("session_id")?.as_str().filter(|_| is_of_claude_code)?.trim();
        return Some(session.to_owned()).filter(|session| !session.is_empty());
    }
    let (account, session) = user_id.strip_prefix("user_")?.split_once("_session_")?;
    (account.contains("_account_") && !session.is_empty()).then(|| session.to_owned())
}

/// Returns the edits that add the block as the last one of `system`, without `cache_control`, so that the cached prefix
/// before it stays the same. A text becomes a list of two blocks. A value of another type is left to the service to
/// refuse. `system` is its range in the body.
pub(super) fn inject_block(body: &str, system: Range<usize>, block: &str) -> Vec<Edit> {
    match &body[system.clone()] {
        "null" | r#""""# => vec![Edit { range: system, text: json_string(block) }],
        text if text.starts_with('"') => vec![
            Edit::insert(system.start, r#"[{"type":"text","text":"#.to_owned()),
            Edit::insert(system.end, format!("}},{}]", text_part("text", block))),
        ],
        list if list.starts_with('[') => vec![append_part(body, system, &text_part("text", block))],
        _ => Vec::new(),
    }
}

/// Returns the edits that append a part to a content, in a request with one cache mark for all of it. The service puts
/// this mark on the last part, so it moves to the last part of the client if no message follows. A text becomes a list:
/// then it is the same prefix with and without the part.
pub(super) fn append_marked(
    body: &str,
    content: Range<usize>,
    mark: Range<usize>,
    is_last: bool,
    part: &str,
) -> Vec<Edit> {
    let value = body[mark.clone()].to_owned();
    let moved_mark = if is_last { format!(r#","cache_control":{value}"#) } else { String::new() };
    let without_mark = is_last.then(|| Edit { range: mark, text: "null".to_owned() });
    if body[content.clone()].starts_with('"') {
        let edits = [
            Edit::insert(content.start, r#"[{"type":"text","text":"#.to_owned()),
            Edit::insert(content.end, format!("{moved_mark}}},{part}]")),
        ];
        return without_mark.into_iter().chain(edits).collect();
    }
    let parts: Vec<BTreeMap<String, &RawValue>> = serde_json::from_str(&body[content.clone()]).unwrap_or_default();
    let last = parts.last().and_then(|last| Some((last.get("type")?, last.get("cache_control"))));
    let mut edits = vec![append_part(body, content, part)];
    if let Some((kind, own_mark)) = last {
        edits.extend(without_mark);
        match own_mark {
            None => edits.push(Edit::insert(range_of(body, kind).end, moved_mark)),
            // As good as none.
            Some(mark) if is_last && mark.get() == "null" => {
                edits.push(Edit { range: range_of(body, mark), text: value });
            }
            Some(_) => {}
        }
    }
    edits
}
