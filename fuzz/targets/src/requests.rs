//! Targets that send requests to the server.
//!
//! An input of [`requests`] is a request in plain text: a line with the method and the path, and the body. After a line
//! `%%` follows the reply of the upstream model service, for requests that the gateway forwards.

use std::{
    cell::RefCell,
    io::Cursor,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    http::{Request, header},
    response::IntoResponse,
};
use memory_engine::MemoryEngine;
use memory_engine_http_models::Endpoint;
use memory_engine_server::{Access, Debugging, Gateway, GatewayOptions, Guard, Mcp, Mem0, Server, Upstream};
use tokio::{net::TcpListener, task::JoinHandle};
use tower::ServiceExt;

use crate::runtime::block_on;

/// Tokens of requests.
pub(crate) const TOKENS: &[&str] = &[
    "GET ",
    "POST ",
    "PUT ",
    "DELETE ",
    "PATCH ",
    "\n%%\n",
    "?user_id=lin",
    "&page=1",
    "%00",
    "%2e%2e/",
    "%ff",
    "\"messages\":",
    "\"role\":\"user\"",
    "\"content\":",
    "\"user_id\":",
    "\"filters\":",
    "\"AND\":[",
    "\"OR\":[",
    "\"NOT\":[",
    "\"top_k\":",
    "\"limit\":0",
    "\"model\":\"m\"",
    "\"stream\":true",
    "\"tools\":[",
    "\"metadata\":{",
    "\"image_url\":",
    "null",
    "-1",
    "1e400",
    "\\ud800",
    "\"infer\":",
    "data: {\"choices\":[{\"delta\":{\"content\":\"",
    "data: [DONE]",
    "\"finish_reason\":",
    "\"memory\":",
    "\"text\":",
    "\"query\":",
];
/// Tokens of MCP messages.
pub(crate) const MCP_TOKENS: &[&str] = &[
    "\"jsonrpc\":\"2.0\"",
    "\"id\":",
    "\"method\":\"",
    "\"params\":{",
    "\"name\":\"",
    "\"arguments\":{",
    "initialize",
    "tools/list",
    "tools/call",
    "search_memory",
    "add_memory",
    "\"_meta\":{",
    "\"query\":\"",
    "\"limit\":",
    "\"cursor\":",
    "null",
    "[",
    "]",
    "\n",
    "\\ud800",
    "-1",
    "1e400",
    "\"result\":",
    "\"error\":",
];
/// Number of requests after which the server starts again with an empty engine, so that it stays small.
const MAX_REQUESTS: u32 = 200;
/// Maximum wait for the end of a stream that has none, such as the events of MCP.
const STREAM_TIMEOUT: Duration = Duration::from_millis(200);
/// The line between a request and the reply of the upstream.
const REPLY_SEPARATOR: &str = "\n%%\n";

/// A server with all parts, and its model service.
struct Fixture {
    engine: MemoryEngine,
    gateway: Gateway,
    router: Router,
    reply: Arc<Mutex<Bytes>>,
    upstream: JoinHandle<()>,
    requests: u32,
}

thread_local! {
    static FIXTURE: RefCell<Option<Fixture>> = const { RefCell::new(None) };
}

impl Fixture {
    async fn start() -> Self {
        let engine = MemoryEngine::builder().in_memory().background(false).build().await.unwrap();
        let reply = Arc::new(Mutex::new(Bytes::new()));
        let (endpoint, upstream) = serve_upstream(Arc::clone(&reply)).await;
        let upstreams = vec![Upstream::new("fuzz", endpoint)];
        let deadline = Duration::from_secs(10);
        let options = GatewayOptions::default().with_deadlines(deadline, deadline);
        let gateway = Gateway::new(engine.clone(), upstreams, options).unwrap();
        let router = Server::new(engine.clone(), Guard::open(Access::tenant("fuzz", "default").unwrap()))
            .gateway(gateway.clone())
            .mem0(Mem0::new(engine.clone()))
            .mcp(Mcp::new(engine.clone()))
            .debugging(Debugging::new(engine.clone()))
            .router();
        Self { engine, gateway, router, reply, upstream, requests: 0 }
    }

    /// Returns the server of this thread, as a new one after many requests.
    async fn take() -> Self {
        match FIXTURE.take() {
            Some(fixture) if fixture.requests < MAX_REQUESTS => fixture,
            Some(old) => {
                old.upstream.abort();
                Self::start().await
            }
            None => Self::start().await,
        }
    }
}

/// Serves a model service that answers every request with `reply`.
async fn serve_upstream(reply: Arc<Mutex<Bytes>>) -> (Endpoint, JoinHandle<()>) {
    let answer = move || {
        let reply = Arc::clone(&reply);
        async move {
            let reply = reply.lock().unwrap().clone();
            let is_stream = reply.starts_with(b"data:") || reply.starts_with(b":");
            let content_type = if is_stream { "text/event-stream" } else { "application/json" };
            ([(header::CONTENT_TYPE, content_type)], reply).into_response()
        }
    };
    let router = Router::new().fallback(answer);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = Endpoint::new(&format!("http://{}/v1", listener.local_addr().unwrap())).unwrap();
    let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    (endpoint, serving)
}

/// Sends a request to the whole server.
pub(crate) fn requests(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let (request, reply) = text.split_once(REPLY_SEPARATOR).unwrap_or((&text, "{}"));
    let (first_line, body) = request.split_once('\n').unwrap_or((request, ""));
    let Some((method, path)) = first_line.split_once(' ') else { return };
    let is_stream = method == "GET";
    let request = Request::builder().method(method).uri(path).header(header::CONTENT_TYPE, "application/json");
    let request = request.header(header::HOST, "localhost").header(header::AUTHORIZATION, "Bearer k");
    let Ok(request) = request.body(Body::from(body.to_owned())) else { return };
    block_on(async {
        let mut fixture = Fixture::take().await;
        *fixture.reply.lock().unwrap() = Bytes::from(reply.to_owned());
        respond(&fixture.router, request, is_stream).await;
        // The turns of the gateway are stored in the background.
        fixture.gateway.drain().await;
        fixture.requests += 1;
        FIXTURE.set(Some(fixture));
    });
}

/// Sends a request, and reads the whole response. A panic in a handler is a response of its own, and a fault.
async fn respond(router: &Router, request: Request<Body>, is_stream: bool) {
    let response = router.clone().oneshot(request).await.unwrap();
    let status = response.status();
    let body = to_bytes(response.into_body(), usize::MAX);
    let body = if is_stream {
        tokio::time::timeout(STREAM_TIMEOUT, body).await.ok().and_then(Result::ok)
    } else {
        body.await.ok()
    };
    let body = body.unwrap_or_default();
    let is_panic = status.as_u16() == 500 && body.starts_with(b"Service panicked");
    assert!(!is_panic, "a handler panicked");
}

/// Sends MCP messages over HTTP, and over pipes.
pub(crate) fn mcp(input: &[u8]) {
    let body = Body::from(input.to_vec());
    let request = Request::post("/mcp").header(header::HOST, "localhost:8080");
    let request = request.header(header::CONTENT_TYPE, "application/json");
    let request = request.header(header::ACCEPT, "application/json, text/event-stream").body(body).unwrap();
    let input = Cursor::new([input, b"\n"].concat());
    block_on(async {
        let mut fixture = Fixture::take().await;
        respond(&fixture.router, request, false).await;
        let access = Access::tenant("fuzz", "default").unwrap();
        let _ = Mcp::new(fixture.engine.clone()).serve(access, input, tokio::io::sink()).await;
        fixture.requests += 1;
        FIXTURE.set(Some(fixture));
    });
}
