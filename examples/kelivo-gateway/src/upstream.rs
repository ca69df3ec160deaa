//! A local chat service with a scripted model.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use axum::{Json, Router, extract::State, http::header::CONTENT_TYPE, response::IntoResponse, routing::post};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// The last request to the model.
pub(crate) type LastRequest = Arc<Mutex<Value>>;

/// The system prompt of the latest request.
pub(crate) fn system(last_request: &LastRequest) -> String {
    let body = last_request.lock().unwrap_or_else(PoisonError::into_inner);
    body["messages"][0]["content"].as_str().unwrap_or_default().to_owned()
}

/// Serves the model and returns its base URL.
pub(crate) async fn listen(last_request: LastRequest) -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let router = Router::new().route("/v1/chat/completions", post(answer)).with_state(last_request);
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(format!("http://{address}/v1"))
}

async fn answer(State(last_request): State<LastRequest>, Json(body): Json<Value>) -> impl IntoResponse {
    let streamed = body["stream"] == true;
    *last_request.lock().unwrap_or_else(PoisonError::into_inner) = body;
    let text = if system(&last_request).contains("[记忆参考") { "嗯，我记得。" } else { "嗯。" };
    let reply = |part: &str| {
        let choice = json!({ "index": 0, part: { "role": "assistant", "content": text }, "finish_reason": "stop" });
        json!({ "id": "c1", "created": 1, "model": "krueger", "choices": [choice] }).to_string()
    };
    match streamed {
        true => ([(CONTENT_TYPE, "text/event-stream")], format!("data: {}\n\ndata: [DONE]\n\n", reply("delta"))),
        false => ([(CONTENT_TYPE, "application/json")], reply("message")),
    }
}
