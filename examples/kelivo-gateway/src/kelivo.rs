//! A client that sends the requests of the Kelivo app.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use axum::http::{HeaderMap, HeaderValue, Method};
use memory_engine::http_models::{Endpoint, Relay, RelayOptions, RelayRequest};
use serde_json::{Value, json};

/// A client of the gateway.
pub(crate) struct Kelivo(Relay, HeaderMap);

/// A response: its headers, its body and its duration.
pub(crate) struct ChatResponse {
    headers: HeaderMap,
    pub(crate) body: String,
    pub(crate) took: Duration,
}

impl ChatResponse {
    /// Returns a header, or an empty text if it is missing.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
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

    /// Sends a chat: the whole history, with the new message at the end.
    pub(crate) async fn chat(&self, session: &str, messages: &[Value], streamed: bool) -> Result<ChatResponse> {
        let body = json!({ "model": "krueger", "messages": messages, "stream": streamed });
        self.send(Method::POST, &["s", session, "v1", "chat", "completions"], body.to_string()).await
    }

    /// Calls an MCP tool and returns its structured result.
    pub(crate) async fn tool(&self, name: &str, arguments: Value) -> Result<Value> {
        let params = json!({ "name": name, "arguments": arguments });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let response = self.send(Method::POST, &["mcp"], body.to_string()).await?;
        Ok(response.json()["result"]["structuredContent"].take())
    }

    pub(crate) async fn send(&self, method: Method, path: &[&str], body: String) -> Result<ChatResponse> {
        let request = RelayRequest::new(method, path).with_headers(self.1.clone()).with_body(body);
        let started = Instant::now();
        let mut reply = self.0.send(&request, Duration::from_secs(60)).await?;
        let bytes = reply.rest(1 << 20).await?;
        let took = started.elapsed();
        let body = String::from_utf8(bytes.to_vec())?;
        ensure!(reply.status().is_success(), "{}: {body}", reply.status());
        Ok(ChatResponse { headers: reply.headers(), body, took })
    }
}
