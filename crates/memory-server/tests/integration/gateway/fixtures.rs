//! A client of the gateway, and the requests that it sends.

use std::time::Duration;

use axum::http::{HeaderMap, Method, StatusCode};
use memory_engine::{
    Filter, Kind, MemoryEngine, Record, ScanQuery, Scope, State, Turn,
    http_models::{Endpoint, Relay, RelayOptions, RelayReply, RelayRequest},
};
use memory_engine_server::{BlockPlacement, GatewayOptions};
use serde_json::{Value, json};

use crate::support::{Served, TIME_LIMIT, upstream::own_words, wait_until};

/// A client of a gateway in front of a scripted upstream.
pub(crate) struct Chat {
    pub(crate) served: Served,
    relay: Relay,
}

/// A complete response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

pub(crate) fn user(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

pub(crate) fn assistant(text: &str) -> Value {
    json!({ "role": "assistant", "content": text })
}

pub(crate) fn request(model: &str, messages: &[Value]) -> Value {
    json!({ "model": model, "messages": messages })
}

pub(crate) fn streamed_request(model: &str, messages: &[Value]) -> Value {
    json!({ "model": model, "messages": messages, "stream": true })
}

impl Chat {
    pub(crate) async fn new() -> Self {
        Self::with_options(patient_options()).await
    }

    pub(crate) async fn with_options(options: GatewayOptions) -> Self {
        Self::with_engine(MemoryEngine::builder().in_memory().build().await.unwrap(), options).await
    }

    pub(crate) async fn with_engine(engine: MemoryEngine, options: GatewayOptions) -> Self {
        Self::of(Served::with_engine(engine, options).await)
    }

    /// A client of a gateway with both upstreams, which adds memories at this place.
    pub(crate) async fn with_placement(placement: BlockPlacement) -> Self {
        let engine = MemoryEngine::builder().in_memory().build().await.unwrap();
        let mut options = patient_options();
        options.placement = placement;
        Self::of(Served::with_both_upstreams(engine, options).await)
    }

    /// A client of this server.
    pub(crate) fn of(served: Served) -> Self {
        let relay = Relay::new(Endpoint::new(&served.url).unwrap(), RelayOptions::default()).unwrap();
        Self { served, relay }
    }

    /// Sends later requests to another server.
    pub(crate) fn redirect(&mut self, url: &str) {
        self.relay = Relay::new(Endpoint::new(url).unwrap(), RelayOptions::default()).unwrap();
    }

    /// Sends a request to a path, with the key and these headers.
    pub(crate) async fn send(&self, path: &str, body: &Value, headers: &[(&'static str, &str)]) -> RelayReply {
        let method = if body.is_null() { Method::GET } else { Method::POST };
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.send_raw(path, method, body, headers).await
    }

    async fn send_raw(&self, path: &str, method: Method, body: String, headers: &[(&'static str, &str)]) -> RelayReply {
        let mut all = HeaderMap::new();
        all.insert("x-memory-key", self.served.key.parse().unwrap());
        all.insert("content-type", "application/json".parse().unwrap());
        for (name, value) in headers {
            all.insert(*name, axum::http::HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
        let path: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let request = RelayRequest::new(method, &path).with_query(query).with_headers(all);
        let request = if body.is_empty() { request } else { request.with_body(body) };
        self.relay.send(&request, Duration::from_secs(60)).await.unwrap()
    }

    /// Sends a body that need not be JSON, and reads the whole response. The path may have a query.
    pub(crate) async fn get_raw(&self, path: &str, body: &str, headers: &[(&'static str, &str)]) -> Answer {
        Self::read(self.send_raw(path, Method::POST, body.to_owned(), headers).await).await
    }

    /// Sends a request, and reads the whole response.
    pub(crate) async fn get(&self, path: &str, body: &Value, headers: &[(&'static str, &str)]) -> Answer {
        Self::read(self.send(path, body, headers).await).await
    }

    async fn read(mut reply: RelayReply) -> Answer {
        let status = reply.status();
        let headers = reply.headers();
        let body = reply.rest(1 << 24).await.unwrap();
        Answer { status, headers, body: String::from_utf8(body.to_vec()).unwrap() }
    }

    /// Sends a chat request of lin, in the session `monday`.
    pub(crate) async fn ask(&self, body: &Value) -> Answer {
        self.get("v1/chat/completions", body, &[("x-user-id", "lin"), ("x-session-id", "monday")]).await
    }

    /// Returns the stored turns of a session, oldest first.
    pub(crate) async fn turns(&self, session: &str) -> Vec<Record> {
        let turns = Filter::eq(memory_engine::Field::Kind, Kind::TURN.as_str());
        let active = Filter::eq(memory_engine::Field::State, State::Active.as_str());
        let query = ScanQuery::oldest(100).with_filter(turns.and(active));
        let scope = lin().with_session(session).unwrap();
        self.served.engine.scan(&scope, &query).await.unwrap().records
    }

    /// Returns the texts of the stored turns of the session `monday`.
    pub(crate) async fn texts(&self) -> Vec<String> {
        self.turns("monday").await.into_iter().map(|record| record.text).collect()
    }

    /// Waits until the session `monday` has this many records of turns, and returns them.
    pub(crate) async fn await_turns(&self, count: usize) -> Vec<Record> {
        let mut turns = Vec::new();
        wait_until("the turns are stored", async || {
            turns = self.turns("monday").await;
            turns.len() >= count
        })
        .await;
        turns
    }

    /// Waits until the upstream has noticed that a request was aborted.
    pub(crate) async fn await_aborted(&self) {
        wait_until("the upstream request is aborted", async || *self.served.received.aborted.lock() > 0).await;
        assert_eq!(*self.served.received.aborted.lock(), 1);
    }

    /// Stores a turn of lin from an earlier session.
    pub(crate) async fn remember(&self, text: &str) {
        let scope = lin().with_session("long ago").unwrap();
        self.served.engine.remember(&scope, Turn::user(text).with_scene("daily").with_round(1)).await.unwrap();
    }

    /// Returns the memories in the user's last message in the last request to the upstream.
    pub(crate) fn block(&self) -> String {
        let request = self.served.received.last();
        let messages = request["messages"].as_array().unwrap();
        let of_user = messages.iter().rfind(|message| message["role"] == "user").unwrap();
        let text = of_user["content"].as_str().unwrap();
        text.strip_prefix(&own_words(text)).unwrap().trim_start().to_owned()
    }
}

/// Returns options with long deadlines, for a busy machine that has to load its dictionary first.
pub(crate) fn patient_options() -> GatewayOptions {
    GatewayOptions::default().with_deadlines(TIME_LIMIT, TIME_LIMIT)
}

pub(crate) fn lin() -> Scope {
    Scope::tenant_wide("acme").unwrap().with_user("lin").unwrap()
}

/// Returns the joined texts of this key in the deltas of a stream.
pub(crate) fn stream_text(stream: &str, key: &str) -> String {
    let chunk = |line: &str| serde_json::from_str::<Value>(line.strip_prefix("data:")?.trim()).ok();
    let text = |chunk: Value| chunk["choices"][0]["delta"][key].as_str().map(str::to_owned);
    stream.lines().filter_map(chunk).filter_map(text).collect()
}
