//! A service with models that do as they are told: each by its name.
//!
//! | model | what it does |
//! |---|---|
//! | `echo` | answers `好的: ` and the last message; twice when `n` is 2 |
//! | `thinker` | thinks aloud in `reasoning_content` first |
//! | `tools` | calls a tool, and answers when the tool has |
//! | `odd` | CRLF, comments, chunks cut inside a character, `delta: null`, empty `choices`, no `[DONE]` |
//! | `pause` | is silent in the middle for 400 ms |
//! | `long` | says one thing that is long, in an event without end until later |
//! | `drip` | says a word every 20 ms and never ends |
//! | `silent` | never answers |
//! | `cut` | ends properly before its end |
//! | `break` | breaks off |
//! | `fails` | reports an error in the middle |
//! | `limited` | 429 with headers |
//! | `html` | 502 with a page |

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, StatusCode, Uri},
    response::{IntoResponse, Response},
};
use futures::{StreamExt, stream};
use parking_lot::Mutex;
use serde_json::{Value, json};

/// The requests that the service received, and the number of aborted ones.
#[derive(Debug, Default)]
pub(crate) struct ReceivedRequests {
    pub(crate) requests: Mutex<Vec<(String, HeaderMap, Bytes)>>,
    pub(crate) hung_up: Mutex<usize>,
}

impl ReceivedRequests {
    /// The body of the latest request.
    pub(crate) fn last(&self) -> Value {
        serde_json::from_slice(&self.requests.lock().last().unwrap().2).unwrap()
    }

    pub(crate) fn last_headers(&self) -> HeaderMap {
        self.requests.lock().last().unwrap().1.clone()
    }
}

/// Notices when what holds it is dropped before its end.
struct Ear(Arc<ReceivedRequests>, bool);

impl Drop for Ear {
    fn drop(&mut self) {
        if !self.1 {
            *self.0.hung_up.lock() += 1;
        }
    }
}

pub(crate) fn router(seen: Arc<ReceivedRequests>) -> Router {
    Router::new().fallback(answer).with_state(seen)
}

fn event(value: &Value) -> String {
    format!("data: {value}\n\n")
}

fn delta(index: usize, delta: Value) -> String {
    event(
        &json!({ "id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "system_fingerprint": "fp",
        "choices": [{ "index": index, "delta": delta, "logprobs": null, "finish_reason": null }] }),
    )
}

fn finish(index: usize, reason: &str) -> String {
    event(&json!({ "id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{ "index": index, "delta": {}, "finish_reason": reason }] }))
}

const DONE: &str = "data: [DONE]\n\n";

async fn answer(State(seen): State<Arc<ReceivedRequests>>, uri: Uri, headers: HeaderMap, bytes: Bytes) -> Response {
    seen.requests.lock().push((uri.path().to_owned(), headers, bytes.clone()));
    let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    match uri.path() {
        "/v1/models" => return axum::Json(json!({ "object": "list", "data": [{ "id": "echo", "object": "model" }, { "id": "odd", "object": "model" }] })).into_response(),
        "/v1/embeddings" => return axum::Json(json!({ "object": "list", "model": body["model"], "data": [{ "index": 0, "embedding": [0.25, 0.5], "object": "embedding" }], "usage": { "prompt_tokens": 1, "total_tokens": 1 } })).into_response(),
        "/v1/chat/completions" => {}
        _ => return StatusCode::NOT_FOUND.into_response(),
    }
    let messages = body["messages"].as_array().cloned().unwrap_or_default();
    let last = messages.iter().rev().find(|m| m["role"] == "user").cloned().unwrap_or_default();
    let asked = last["content"].as_str().map_or_else(|| last["content"].to_string(), str::to_owned);
    let said = format!("好的: {asked}");
    match body["model"].as_str().unwrap_or_default() {
        "limited" => {
            let headers = [("retry-after", "7"), ("x-ratelimit-remaining-requests", "0"), ("x-request-id", "req_9")];
            let error =
                json!({ "error": { "message": "slow down", "type": "requests", "code": "rate_limit_exceeded" } });
            return (StatusCode::TOO_MANY_REQUESTS, headers, axum::Json(error)).into_response();
        }
        "html" => {
            return (StatusCode::BAD_GATEWAY, [("content-type", "text/html")], "<html>bad</html>").into_response();
        }
        "silent" => {
            let _ear = Ear(seen, false);
            return std::future::pending().await;
        }
        _ => {}
    }
    if body["stream"] != json!(true) {
        return plain(&body, &messages, &said);
    }
    let pieces = match body["model"].as_str().unwrap_or_default() {
        "thinker" => vec![
            delta(0, json!({ "role": "assistant", "content": null, "reasoning_content": "她累了" })),
            delta(0, json!({ "content": "早点休息" })),
            finish(0, "stop"),
            DONE.into(),
        ],
        "tools" if messages.last().is_some_and(|m| m["role"] == "user") => vec![
            delta(
                0,
                json!({ "role": "assistant", "content": null, "tool_calls": [{ "index": 0, "id": "call_1", "type": "function", "function": { "name": "weather", "arguments": "" } }] }),
            ),
            delta(0, json!({ "tool_calls": [{ "index": 0, "function": { "arguments": "{\"city\":" } }] })),
            delta(0, json!({ "tool_calls": [{ "index": 0, "function": { "arguments": "\"柏林\"}" } }] })),
            finish(0, "tool_calls"),
            DONE.into(),
        ],
        "odd" => {
            let all = format!(
                ": hello\r\n\r\n{}data: {{\"choices\":[{{\"index\":0,\"delta\":null}}]}}\r\n\r\ndata: {{\"choices\":[]}}\r\n\r\n{}{}data: {{\"choices\":[],\"usage\":{{\"total_tokens\":3}}}}\n\n",
                delta(0, json!({ "role": "assistant", "content": "你" })),
                delta(0, json!({ "content": "好😀" })),
                finish(0, "stop")
            );
            let cut: Vec<Bytes> = all.as_bytes().chunks(7).map(Bytes::copy_from_slice).collect();
            let body = stream::iter(cut).then(|bytes| async {
                tokio::task::yield_now().await;
                Ok::<_, Infallible>(bytes)
            });
            return ([("content-type", "text/event-stream")], Body::from_stream(body)).into_response();
        }
        "cut" => vec![delta(0, json!({ "role": "assistant", "content": "我正想" }))],
        "break" => {
            vec![delta(0, json!({ "role": "assistant", "content": "我正想" })), "data: {\"choi".into(), "!".into()]
        }
        "fails" => vec![
            delta(0, json!({ "content": "我正" })),
            event(&json!({ "error": { "message": "overloaded", "type": "server_error" } })),
        ],
        "pause" => vec![
            delta(0, json!({ "content": "等" })),
            "pause".into(),
            delta(0, json!({ "content": "一下" })),
            finish(0, "stop"),
            DONE.into(),
        ],
        "long" => vec![
            delta(0, json!({ "content": "开头" })),
            delta(0, json!({ "content": "长".repeat(400) })).trim_end().to_owned(),
            "\n".into(),
            "\n".into(),
            delta(0, json!({ "content": "结尾" })),
            finish(0, "stop"),
            DONE.into(),
        ],
        "drip" => vec![delta(0, json!({ "content": "嗯" })); 10_000],
        _ if body["n"] == 2 => vec![
            delta(0, json!({ "content": "one" })),
            delta(1, json!({ "content": "two" })),
            finish(0, "stop"),
            finish(1, "stop"),
            DONE.into(),
        ],
        _ => {
            let half = said.char_indices().nth(3).map_or(said.len(), |(i, _)| i);
            vec![
                delta(0, json!({ "role": "assistant", "content": "" })),
                delta(0, json!({ "content": said[..half] })),
                delta(0, json!({ "content": said[half..] })),
                finish(0, "stop"),
                DONE.into(),
            ]
        }
    };
    let wait = if body["model"] == "drip" { 20 } else { 0 };
    let state = (pieces.into_iter(), Ear(seen, false));
    let body = stream::unfold(state, move |(mut pieces, mut ear)| async move {
        tokio::time::sleep(Duration::from_millis(wait)).await;
        let Some(piece) = pieces.next() else {
            ear.1 = true;
            drop(ear);
            return None;
        };
        ear.1 |= piece == "!" || pieces.len() == 0;
        match piece.as_str() {
            "!" => {
                tokio::time::sleep(Duration::from_millis(50)).await;
                Some((Err(std::io::Error::other("broken")), (pieces, ear)))
            }
            "pause" => {
                tokio::time::sleep(Duration::from_millis(400)).await;
                Some((Ok(Bytes::new()), (pieces, ear)))
            }
            _ => Some((Ok(Bytes::from(piece)), (pieces, ear))),
        }
    });
    ([("content-type", "text/event-stream"), ("x-request-id", "req_1"), ("set-cookie", "a=b")], Body::from_stream(body))
        .into_response()
}

fn plain(body: &Value, messages: &[Value], said: &str) -> Response {
    let mut message = json!({ "role": "assistant", "content": said, "refusal": null });
    let mut reason = "stop";
    match body["model"].as_str().unwrap_or_default() {
        "thinker" => message = json!({ "role": "assistant", "content": "早点休息", "reasoning_content": "她累了" }),
        "tools" if messages.last().is_some_and(|m| m["role"] == "user") => {
            let call =
                json!({ "id": "call_1", "type": "function", "function": { "name": "weather", "arguments": "{}" } });
            (message, reason) = (json!({ "role": "assistant", "content": null, "tool_calls": [call] }), "tool_calls");
        }
        _ => {}
    }
    axum::Json(json!({ "id": "c1", "object": "chat.completion", "created": 1, "model": body["model"],
        "choices": [{ "index": 0, "message": message, "logprobs": null, "finish_reason": reason }],
        "usage": { "prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2 }, "x_unknown": 1.50 }))
    .into_response()
}
