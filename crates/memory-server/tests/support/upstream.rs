//! A scripted model service. The name of the model selects its behaviour.
//!
//! | model | behaviour |
//! |---|---|
//! | `echo` | replies `好的: ` and the words of the last user message; two choices if `n` is 2 |
//! | `says` | replies what the message of the system says |
//! | `thinker` | sends `reasoning_content` first |
//! | `tools` | calls a tool, and replies after the result of the tool |
//! | `odd` | CRLF, comments, chunks that end within a character, `delta: null`, empty `choices`, no `[DONE]` |
//! | `pause` | is silent in the middle, until the test ends the pause |
//! | `long` | sends a long event, and its blank line in separate chunks |
//! | `drip` | sends a word every 20 ms, for a long time |
//! | `silent` | never responds |
//! | `cut` | ends without an end marker or finish reason |
//! | `break` | fails in the middle of an event |
//! | `fails` | reports an error in the middle |
//! | `limited` | 429 with headers |
//! | `html` | 502 with an HTML page |
//! | `broken` | JSON that is cut off, with 200; in a stream, after the first word |

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, StatusCode, Uri},
    response::{IntoResponse, Response},
};
use futures::{StreamExt, stream};
use memory_engine_intake::without_injected;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Notify;

/// The requests that the service received, and the number of aborted ones.
#[derive(Debug, Default)]
pub(crate) struct ReceivedRequests {
    pub(crate) requests: Mutex<Vec<(String, HeaderMap, Bytes)>>,
    pub(crate) aborted: Mutex<usize>,
    /// Ends the pause of the model `pause`.
    pub(crate) pause: Notify,
}

impl ReceivedRequests {
    /// Returns the body of the latest request.
    pub(crate) fn last(&self) -> Value {
        serde_json::from_slice(&self.last_bytes()).unwrap()
    }

    pub(crate) fn last_bytes(&self) -> Bytes {
        self.requests.lock().last().unwrap().2.clone()
    }

    pub(crate) fn last_headers(&self) -> HeaderMap {
        self.requests.lock().last().unwrap().1.clone()
    }
}

/// Counts a request as aborted if it is dropped before the response is complete.
struct AbortCounter {
    received: Arc<ReceivedRequests>,
    is_complete: bool,
}

impl Drop for AbortCounter {
    fn drop(&mut self) {
        if !self.is_complete {
            *self.received.aborted.lock() += 1;
        }
    }
}

pub(crate) fn router(received: Arc<ReceivedRequests>) -> Router {
    Router::new().fallback(respond).with_state(received)
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

/// The first chunk of a streamed tool call.
fn tool_call() -> Value {
    let function = json!({ "name": "weather", "arguments": "" });
    json!({ "index": 0, "id": "call_1", "type": "function", "function": function })
}

const DONE: &str = "data: [DONE]\n\n";

/// Returns the words of a message without the memories that the gateway has added.
pub(crate) fn own_words(text: &str) -> String {
    without_injected(text).trim_end().to_owned()
}

async fn respond(
    State(received): State<Arc<ReceivedRequests>>,
    uri: Uri,
    headers: HeaderMap,
    bytes: Bytes,
) -> Response {
    received.requests.lock().push((uri.path().to_owned(), headers, bytes.clone()));
    let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    match uri.path() {
        "/v1/models" => {
            let models = json!([{ "id": "echo", "object": "model" }, { "id": "odd", "object": "model" }]);
            return axum::Json(json!({ "object": "list", "data": models })).into_response();
        }
        "/v1/embeddings" => {
            let data = json!([{ "index": 0, "embedding": [0.25, 0.5], "object": "embedding" }]);
            let usage = json!({ "prompt_tokens": 1, "total_tokens": 1 });
            let list = json!({ "object": "list", "model": body["model"], "data": data, "usage": usage });
            return axum::Json(list).into_response();
        }
        "/v1/chat/completions" => {}
        _ => return StatusCode::NOT_FOUND.into_response(),
    }
    let messages = body["messages"].as_array().cloned().unwrap_or_default();
    let last = messages.iter().rev().find(|m| m["role"] == "user").cloned().unwrap_or_default();
    let parts = last["content"].as_array();
    let texts: Option<Vec<&str>> = parts.and_then(|parts| parts.iter().map(|part| part["text"].as_str()).collect());
    let text = last["content"].as_str().map(str::to_owned).or_else(|| Some(texts?.join("\n")));
    let question = text.map_or_else(|| last["content"].to_string(), |text| own_words(&text));
    let mut reply = format!("好的: {question}");
    if body["model"] == "says" {
        let system = messages.iter().find(|message| message["role"] == "system");
        reply = system.and_then(|message| message["content"].as_str()).unwrap_or_default().to_owned();
    }
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
            let _counter = AbortCounter { received, is_complete: false };
            return std::future::pending().await;
        }
        _ => {}
    }
    if body["model"] == "broken" && body["stream"] != json!(true) {
        let headers = [("content-type", "application/json")];
        return (headers, r#"{"choices":[{"index":0,"message":{"role":"assistan}"#).into_response();
    }
    if body["stream"] != json!(true) {
        return plain_reply(&body, &messages, &reply);
    }
    let chunks = match body["model"].as_str().unwrap_or_default() {
        "thinker" => vec![
            delta(0, json!({ "role": "assistant", "content": null, "reasoning_content": "她累了" })),
            delta(0, json!({ "content": "早点休息" })),
            finish(0, "stop"),
            DONE.into(),
        ],
        "tools" if messages.last().is_some_and(|m| m["role"] == "user") => vec![
            delta(0, json!({ "role": "assistant", "content": null, "tool_calls": [tool_call()] })),
            delta(0, json!({ "tool_calls": [{ "index": 0, "function": { "arguments": "{\"city\":" } }] })),
            delta(0, json!({ "tool_calls": [{ "index": 0, "function": { "arguments": "\"柏林\"}" } }] })),
            finish(0, "tool_calls"),
            DONE.into(),
        ],
        "odd" => {
            let all = format!(
                ": hello\r\n\r\n{}data: {{\"choices\":[{{\"index\":0,\"delta\":null}}]}}\r\n\r\n\
                 data: {{\"choices\":[]}}\r\n\r\n{}{}data: {{\"choices\":[],\"usage\":{{\"total_tokens\":3}}}}\n\n",
                delta(0, json!({ "role": "assistant", "content": "你" })),
                delta(0, json!({ "content": "好😀" })),
                finish(0, "stop")
            );
            let chunks: Vec<Bytes> = all.as_bytes().chunks(7).map(Bytes::copy_from_slice).collect();
            let body = stream::iter(chunks).then(|bytes| async {
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
        "broken" => {
            let first = delta(0, json!({ "content": "我正" }));
            vec![format!("{first}data: {{\"choices\": [{{\n\n"), delta(0, json!({ "content": "late" })), DONE.into()]
        }
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
            let half = reply.char_indices().nth(3).map_or(reply.len(), |(i, _)| i);
            vec![
                delta(0, json!({ "role": "assistant", "content": "" })),
                delta(0, json!({ "content": reply[..half] })),
                delta(0, json!({ "content": reply[half..] })),
                finish(0, "stop"),
                DONE.into(),
            ]
        }
    };
    let wait_ms = if body["model"] == "drip" { 20 } else { 0 };
    let state = (chunks.into_iter(), AbortCounter { received, is_complete: false });
    let body = stream::unfold(state, move |(mut chunks, mut counter)| async move {
        tokio::time::sleep(Duration::from_millis(wait_ms)).await;
        let Some(chunk) = chunks.next() else {
            counter.is_complete = true;
            drop(counter);
            return None;
        };
        counter.is_complete |= chunk == "!" || chunks.len() == 0;
        match chunk.as_str() {
            "!" => {
                tokio::time::sleep(Duration::from_millis(50)).await;
                Some((Err(std::io::Error::other("broken")), (chunks, counter)))
            }
            "pause" => {
                counter.received.pause.notified().await;
                Some((Ok(Bytes::new()), (chunks, counter)))
            }
            _ => Some((Ok(Bytes::from(chunk)), (chunks, counter))),
        }
    });
    ([("content-type", "text/event-stream"), ("x-request-id", "req_1"), ("set-cookie", "a=b")], Body::from_stream(body))
        .into_response()
}

fn plain_reply(body: &Value, messages: &[Value], reply: &str) -> Response {
    let mut message = json!({ "role": "assistant", "content": reply, "refusal": null });
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
