//! A server next to a test, and its client.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};
use memory_engine::{
    MemoryEngine, Scope,
    http_models::{Endpoint, Relay, RelayOptions, RelayRequest},
};
use memory_engine_server::{Access, Guard, Server};
use serde_json::Value;
use tokio::net::TcpListener;

/// A server of this machine.
#[derive(Debug)]
pub(crate) struct Served {
    pub(crate) url: String,
    relay: Relay,
}

/// The response.
#[derive(Debug)]
pub(crate) struct ServedReply {
    pub(crate) status: u16,
    pub(crate) body: String,
    headers: HeaderMap,
}

impl ServedReply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("this is no JSON: {}", self.body))
    }

    /// A header of the gateway, such as `rule` for `x-memory-rule`; empty when it is not there.
    pub(crate) fn tells(&self, name: &str) -> &str {
        self.headers.get(format!("x-memory-{name}")).map_or("", |value| value.to_str().unwrap())
    }
}

/// A server over this memory with nothing in it yet; everybody may come in.
pub(crate) fn server(memory: &MemoryEngine) -> Server {
    Server::new(memory.clone(), Guard::open(Access::tenant("tests", Scope::DEFAULT_TENANT).unwrap()))
}

impl Served {
    /// Serves this until the test ends.
    pub(crate) async fn new(server: Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(server.serve(listener, std::future::pending()));
        let options = RelayOptions::default().with_system_proxy(false);
        let relay = Relay::new(Endpoint::new(&url).unwrap(), options).unwrap();
        Self { url, relay }
    }

    pub(crate) async fn get(&self, path: &str) -> ServedReply {
        self.send(Method::GET, path, &[], None).await
    }

    pub(crate) async fn post(&self, path: &str, headers: &[(&'static str, &str)], body: &Value) -> ServedReply {
        self.send(Method::POST, path, headers, Some(body)).await
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        more: &[(&'static str, &str)],
        body: Option<&Value>,
    ) -> ServedReply {
        let both = "application/json, text/event-stream";
        let mut headers = HeaderMap::new();
        for (name, value) in [("content-type", "application/json"), ("accept", both)].iter().chain(more) {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        let (path, question) = path.split_once('?').map_or((path, None), |(path, question)| (path, Some(question)));
        let path: Vec<&str> = path.split('/').collect();
        let mut request = RelayRequest::new(method, &path).with_headers(headers).with_query(question);
        if let Some(body) = body {
            request = request.with_body(body.to_string());
        }
        let mut reply = self.relay.send(&request, Duration::from_secs(60)).await.unwrap();
        let (status, headers) = (reply.status().as_u16(), reply.headers());
        let body = reply.rest(1 << 22).await.unwrap();
        ServedReply { status, headers, body: String::from_utf8(body.to_vec()).unwrap() }
    }
}
