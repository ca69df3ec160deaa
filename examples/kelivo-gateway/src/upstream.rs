//! A service with a model that follows a script, on this machine.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use axum::{
    Json, Router,
    extract::State,
    http::header::CONTENT_TYPE,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// What the model was asked last.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen(Arc<Mutex<Value>>);

impl Seen {
    /// The system prompt of the latest request.
    pub(crate) fn system(&self) -> String {
        let body = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        body["messages"][0]["content"].as_str().unwrap_or_default().to_owned()
    }
}

/// Serves the model, and says where.
pub(crate) async fn listen(seen: Seen) -> Result<String> {
    let models = || async { Json(json!({ "object": "list", "data": [{ "id": "krueger", "object": "model" }] })) };
    let router = Router::new().route("/v1/models", get(models));
    let router = router.route("/v1/chat/completions", post(answer)).with_state(seen);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(format!("http://{address}/v1"))
}

async fn answer(State(seen): State<Seen>, Json(body): Json<Value>) -> Response {
    let streamed = body["stream"] == true;
    *seen.0.lock().unwrap_or_else(PoisonError::into_inner) = body;
    let reply = if seen.system().contains("[记忆参考") { "嗯，我记得。" } else { "嗯。" };
    let choice = |name: &str, said: Value, end: Value| {
        let choice = json!({ "index": 0, name: said, "finish_reason": end });
        json!({ "id": "c1", "created": 1, "model": "krueger", "choices": [choice] })
    };
    if !streamed {
        return Json(choice("message", json!({ "role": "assistant", "content": reply }), "stop".into()))
            .into_response();
    }
    let pieces = reply.chars().map(|c| choice("delta", json!({ "content": c.to_string() }), Value::Null));
    let mut events: String = pieces.map(|piece| format!("data: {piece}\n\n")).collect();
    events += &format!("data: {}\n\ndata: [DONE]\n\n", choice("delta", json!({}), "stop".into()));
    ([(CONTENT_TYPE, "text/event-stream")], events).into_response()
}
