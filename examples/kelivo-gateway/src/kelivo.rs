//! The client: what the app on the phone sends.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use axum::http::{HeaderMap, HeaderValue, Method};
use memory_engine::http_models::{Endpoint, Relay, RelayOptions, RelayRequest};
use serde_json::{Value, json};

/// A client of the gateway, or of the model behind it.
#[derive(Debug)]
pub(crate) struct Kelivo {
    relay: Relay,
    user: String,
}

/// An answer: what the gateway says about it, its text, and how long it took.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
    pub(crate) took: Duration,
}

impl Answer {
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
        let relay = Relay::new(Endpoint::new(url)?, RelayOptions::default().with_system_proxy(false))?;
        Ok(Self { relay, user: user.to_owned() })
    }

    /// A chat: the whole history of its window, the new message at the end.
    pub(crate) async fn chat(&self, session: &str, messages: &[Value], streamed: bool) -> Result<Answer> {
        let body = json!({ "model": "krueger", "messages": messages, "stream": streamed });
        self.send(Method::POST, &["v1", "chat", "completions"], session, Some(body)).await
    }

    /// A call of an MCP tool; the result as JSON.
    pub(crate) async fn tool(&self, name: &str, arguments: Value) -> Result<Value> {
        let params = json!({ "name": name, "arguments": arguments });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        Ok(self.send(Method::POST, &["mcp"], "", Some(body)).await?.json()["result"].take())
    }

    pub(crate) async fn health(&self) -> Result<Answer> {
        self.send(Method::GET, &["health"], "", None).await
    }

    async fn send(&self, method: Method, path: &[&str], session: &str, body: Option<Value>) -> Result<Answer> {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        headers.insert("accept", HeaderValue::from_static("application/json, text/event-stream"));
        headers.insert("x-user-id", HeaderValue::from_str(&self.user)?);
        if !session.is_empty() {
            headers.insert("x-session-id", HeaderValue::from_str(session)?);
        }
        let request = RelayRequest::new(method, path).with_headers(headers);
        let request = body.into_iter().fold(request, |request, body| request.with_body(body.to_string()));
        let began = Instant::now();
        let mut reply = self.relay.send(&request, Duration::from_secs(60)).await?;
        let bytes = reply.rest(1 << 20).await?;
        let (took, body) = (began.elapsed(), String::from_utf8_lossy(&bytes).into_owned());
        ensure!(reply.status().is_success(), "{}: {body}", reply.status());
        Ok(Answer { headers: reply.headers(), body, took })
    }
}
