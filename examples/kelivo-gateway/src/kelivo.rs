//! The client: what the app on the phone sends.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use axum::http::{HeaderMap, HeaderValue, Method};
use memory_engine::http_models::{Endpoint, Relay, RelayOptions, RelayRequest};
use serde_json::{Value, json};

/// A client of the gateway.
pub(crate) struct Kelivo(Relay, HeaderMap);

/// An answer: what the gateway says about it, its text, and how long it took.
pub(crate) struct ChatResponse {
    headers: HeaderMap,
    pub(crate) body: String,
    pub(crate) took: Duration,
}

impl ChatResponse {
    /// A header of the gateway; empty when it is not there.
    pub(crate) fn says(&self, header: &str) -> &str {
        self.headers.get(header).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

impl Kelivo {
    pub(crate) fn new(url: &str, user: &str) -> Result<Self> {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        headers.insert("accept", HeaderValue::from_static("application/json, text/event-stream"));
        headers.insert("x-user-id", HeaderValue::from_str(user)?);
        Ok(Self(Relay::new(Endpoint::new(url)?, RelayOptions::default().with_system_proxy(false))?, headers))
    }

    /// A chat: the whole history of its window, the new message at the end.
    pub(crate) async fn chat(&self, session: &str, messages: &[Value], streamed: bool) -> Result<ChatResponse> {
        let body = json!({ "model": "krueger", "messages": messages, "stream": streamed });
        self.send(Method::POST, &["s", session, "v1", "chat", "completions"], body.to_string()).await
    }

    /// A call of an MCP tool; what it gives.
    pub(crate) async fn tool(&self, name: &str, arguments: Value) -> Result<Value> {
        let params = json!({ "name": name, "arguments": arguments });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let answer = self.send(Method::POST, &["mcp"], body.to_string()).await?;
        Ok(answer.json()["result"]["structuredContent"].take())
    }

    pub(crate) async fn send(&self, method: Method, path: &[&str], body: String) -> Result<ChatResponse> {
        let request = RelayRequest::new(method, path).with_headers(self.1.clone()).with_body(body);
        let began = Instant::now();
        let mut reply = self.0.send(&request, Duration::from_secs(60)).await?;
        let bytes = reply.rest(1 << 20).await?;
        let (took, body) = (began.elapsed(), String::from_utf8(bytes.to_vec())?);
        ensure!(reply.status().is_success(), "{}: {body}", reply.status());
        Ok(ChatResponse { headers: reply.headers(), body, took })
    }
}
