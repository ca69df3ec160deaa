//! A scripted model service that speaks Anthropic's messages and OpenAI's responses. The name of the model selects its
//! behaviour:
//!
//! | model | behaviour |
//! |---|---|
//! | `native-echo` | replies `好的: ` and the words of the last message of the user |
//! | `native-tools` | calls a tool, and replies after the result of the tool |
//! | `native-cut` | ends without an end |
//! | `native-fails` | reports an error in the middle |
//! | `native-limited` | 429 with a header |

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use axum::{
    Json, Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, Method, StatusCode, Uri},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use super::upstream::{ReceivedRequests, own_words};

#[derive(Clone)]
struct Native {
    received: Arc<ReceivedRequests>,
    responses: Arc<AtomicUsize>,
}

pub(crate) fn router(received: Arc<ReceivedRequests>) -> Router {
    Router::new().fallback(respond).with_state(Native { received, responses: Arc::default() })
}

async fn respond(State(native): State<Native>, method: Method, uri: Uri, headers: HeaderMap, bytes: Bytes) -> Response {
    native.received.requests.lock().push((format!("{method} {}", uri.path()), headers, bytes.clone()));
    let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let path = uri.path();
    match (method, path) {
        (Method::POST, "/v1/messages/count_tokens") => Json(json!({ "input_tokens": 7 })).into_response(),
        (Method::POST, "/v1/messages") => messages(&body),
        (Method::POST, "/v1/responses") => {
            let id = format!("resp_{}", native.responses.fetch_add(1, Ordering::Relaxed));
            responses(&body, &id)
        }
        (Method::GET, path) if path.starts_with("/v1/responses/") => {
            Json(response(&path["/v1/responses/".len()..], "completed", &json!([]))).into_response()
        }
        (Method::DELETE, path) if path.starts_with("/v1/responses/") => {
            let id = &path["/v1/responses/".len()..];
            Json(json!({ "id": id, "object": "response", "deleted": true })).into_response()
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

fn last_of_user(messages: &Value) -> String {
    let list = messages.as_array().into_iter().flatten();
    let of_user = list.filter(|message| message["role"] == "user");
    let mut texts = of_user.map(|message| text_of(&message["content"]));
    own_words(&texts.rfind(|text| !text.is_empty()).unwrap_or_default())
}

fn sse(events: &[Value]) -> Response {
    let event = |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    ([("content-type", "text/event-stream")], events.iter().map(event).collect::<String>()).into_response()
}

fn limited() -> Response {
    let error =
        json!({ "type": "error", "error": { "type": "rate_limit_error", "message": "slow down" }, "request_id": null });
    (StatusCode::TOO_MANY_REQUESTS, [("retry-after", "7")], Json(error)).into_response()
}

/// Returns true if the last message is the result of a tool.
fn ends_with_tool_result(body: &Value) -> bool {
    let list = body["messages"].as_array().or_else(|| body["input"].as_array());
    let last = list.and_then(|list| list.last()).cloned().unwrap_or_default();
    last["type"] == "function_call_output" || last["content"][0]["type"] == "tool_result"
}

fn messages(body: &Value) -> Response {
    let reply = format!("好的: {}", last_of_user(&body["messages"]));
    let model = body["model"].as_str().unwrap_or_default();
    if model == "native-limited" {
        return limited();
    }
    let calls_tool = model == "native-tools" && !ends_with_tool_result(body);
    let content = match calls_tool {
        true => json!([{ "type": "tool_use", "id": "toolu_1", "name": "weather", "input": { "city": "柏林" } }]),
        false => json!([{ "type": "text", "text": reply, "citations": null }]),
    };
    let stop_reason = if calls_tool { "tool_use" } else { "end_turn" };
    let usage = json!({ "input_tokens": 5, "output_tokens": 3 });
    let message = |content: Value, stop_reason: Value| {
        json!({ "id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": content,
            "stop_reason": stop_reason, "stop_sequence": null, "usage": usage })
    };
    if body["stream"] != json!(true) {
        return Json(message(content, json!(stop_reason))).into_response();
    }
    let start = json!({ "type": "message_start", "message": message(json!([]), Value::Null) });
    let block = if calls_tool {
        json!({ "type": "tool_use", "id": "toolu_1", "name": "weather", "input": {} })
    } else {
        json!({ "type": "text", "text": "" })
    };
    let delta = if calls_tool {
        json!({ "type": "input_json_delta", "partial_json": "{\"city\": \"柏林\"}" })
    } else {
        json!({ "type": "text_delta", "text": reply })
    };
    let mut events = vec![
        start,
        json!({ "type": "content_block_start", "index": 0, "content_block": block }),
        json!({ "type": "ping" }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
    ];
    match model {
        "native-cut" => return sse(&events),
        "native-fails" => {
            let details = json!({ "type": "overloaded_error", "message": "overloaded" });
            events.push(json!({ "type": "error", "error": details }));
            return sse(&events);
        }
        _ => {}
    }
    events.extend([
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": stop_reason, "stop_sequence": null },
            "usage": { "output_tokens": 3 } }),
        json!({ "type": "message_stop" }),
    ]);
    sse(&events)
}

fn response(id: &str, status: &str, output: &Value) -> Value {
    json!({ "id": id, "object": "response", "created_at": 1, "status": status, "model": "native-echo", "output": output,
        "parallel_tool_calls": true, "tool_choice": "auto", "tools": [], "error": null, "incomplete_details": null,
        "instructions": null, "metadata": {}, "temperature": 1.0, "top_p": 1.0,
        "usage": { "input_tokens": 5, "output_tokens": 3, "total_tokens": 8,
            "input_tokens_details": { "cached_tokens": 0 }, "output_tokens_details": { "reasoning_tokens": 0 } } })
}

fn responses(body: &Value, id: &str) -> Response {
    let input = body["input"].as_str().map_or_else(|| last_of_user(&body["input"]), own_words);
    let reply = format!("好的: {input}");
    let model = body["model"].as_str().unwrap_or_default();
    if model == "native-limited" {
        return limited();
    }
    let item = match model == "native-tools" && !ends_with_tool_result(body) {
        true => json!({ "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "weather",
            "arguments": "{\"city\":\"柏林\"}", "status": "completed" }),
        false => json!({ "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": [{ "type": "output_text", "text": reply, "annotations": [] }] }),
    };
    let output = json!([item]);
    if body["stream"] != json!(true) {
        return Json(response(id, "completed", &output)).into_response();
    }
    let mut events = vec![
        json!({ "type": "response.created", "response": response(id, "in_progress", &json!([])) }),
        json!({ "type": "response.output_item.added", "output_index": 0, "item": item }),
    ];
    if item["type"] == "message" {
        events.push(json!({ "type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0,
            "content_index": 0, "delta": reply, "logprobs": [] }));
    }
    match model {
        "native-cut" => {}
        "native-fails" => {
            events.push(json!({ "type": "error", "code": "server_error", "message": "overloaded", "param": null }))
        }
        _ => events.extend([
            json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
            json!({ "type": "response.completed", "response": response(id, "completed", &output) }),
        ]),
    }
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = json!(number);
    }
    sse(&events)
}
