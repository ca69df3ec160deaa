//! Fixtures of the tests.

#![allow(dead_code, reason = "each test takes what it needs of it")]

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{HeaderMap, Request},
};
use memory_engine::{Builder, Clock, EnrichmentOptions, MemoryEngine};
use memory_engine_server::{Access, ApiKey, Guard, KeyRing, Mem0, Server};
use serde_json::{Value, json};
use tower::ServiceExt;

/// The routes over one memory, for a caller with a key.
#[derive(Clone)]
pub(crate) struct Api {
    router: Router,
    key: Option<String>,
}

/// The response.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

pub(crate) async fn engine() -> MemoryEngine {
    MemoryEngine::builder().in_memory().enrichment(EnrichmentOptions::rules().unwrap()).build().await.unwrap()
}

/// An engine of which nothing is done in the background, at a time of its own.
pub(crate) async fn engine_at(clock: Arc<dyn Clock>) -> MemoryEngine {
    let builder: Builder = MemoryEngine::builder().in_memory().enrichment(EnrichmentOptions::rules().unwrap());
    builder.clock(clock).background(false).build().await.unwrap()
}

impl Api {
    /// Over an empty memory, open to everybody.
    pub(crate) async fn open() -> Self {
        let engine = engine().await;
        // However busy the machine is.
        let mem0 = Mem0::new(engine.clone())
            .with_platform_add_timeout(Duration::from_secs(60))
            .with_add_timeout(Duration::from_secs(60));
        Self::over(mem0, engine)
    }

    /// Over these routes, open to everybody.
    pub(crate) fn over(mem0: Mem0, engine: MemoryEngine) -> Self {
        let guard = Guard::open(Access::tenant("everybody", "default").unwrap());
        Self { router: Server::new(engine, guard).allowed_hosts(["memory.test"]).mem0(mem0).router(), key: None }
    }

    /// Over one memory, as the owners of keys of different reach see it.
    pub(crate) fn with_keys<const N: usize>(engine: &MemoryEngine, reach: [Access; N]) -> [Self; N] {
        let keys = reach.map(|access| (ApiKey::generate(), access));
        let ring = keys.iter().fold(KeyRing::default(), |ring, (key, access)| ring.with_key(key, access.clone()));
        let router = Server::new(engine.clone(), Guard::keys(ring)).mem0(Mem0::new(engine.clone())).router();
        keys.map(|(key, _)| Self { router: router.clone(), key: Some(key.reveal().to_owned()) })
    }

    pub(crate) fn without_key(&self) -> Self {
        Self { key: None, ..self.clone() }
    }

    pub(crate) async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> Answer {
        self.send(method, path, body.map(|body| body.to_string())).await
    }

    pub(crate) async fn send(&self, method: &str, path: &str, body: Option<String>) -> Answer {
        let mut request = Request::builder().method(method).uri(path).header("host", "memory.test:8765");
        if let Some(key) = &self.key {
            request = request.header("authorization", format!("Token {key}"));
        }
        request = request.header("x-request-id", "r-1").header("content-type", "application/json");
        let request = request.body(body.map_or_else(Body::empty, Body::from)).unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap();
        let body = if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes).unwrap() };
        Answer { status: parts.status.as_u16(), headers: parts.headers, body }
    }

    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> impl Future<Output = Value> {
        self.good("GET", path, None)
    }

    #[track_caller]
    pub(crate) fn post(&self, path: &str, body: Value) -> impl Future<Output = Value> {
        self.good("POST", path, Some(body))
    }

    #[track_caller]
    pub(crate) fn put(&self, path: &str, body: Value) -> impl Future<Output = Value> {
        self.good("PUT", path, Some(body))
    }

    #[track_caller]
    pub(crate) fn delete(&self, path: &str) -> impl Future<Output = Value> {
        self.good("DELETE", path, None)
    }

    #[track_caller]
    pub(crate) fn good(&self, method: &str, path: &str, body: Option<Value>) -> impl Future<Output = Value> {
        let caller = std::panic::Location::caller();
        let (api, method, path) = (self.clone(), method.to_owned(), path.to_owned());
        async move {
            let answer = api.ask(&method, &path, body).await;
            assert_eq!(answer.status, 200, "{caller}: {method} {path}: {}", answer.body);
            answer.body
        }
    }

    /// Stores a note as it is, and gives its id.
    pub(crate) async fn note(&self, owner: Value, text: &str) -> String {
        self.noted(owner, text, Value::Null).await
    }

    pub(crate) async fn noted(&self, owner: Value, text: &str, metadata: Value) -> String {
        let mut body = json!({"messages": [{"role": "user", "content": text}], "infer": false, "metadata": metadata});
        body.as_object_mut().unwrap().extend(owner.as_object().unwrap().clone());
        let added = self.post("/memories", body).await;
        added["results"][0]["id"].as_str().unwrap().to_owned()
    }

    /// Tells something, and gives what was made of it.
    pub(crate) async fn tell(&self, owner: Value, text: &str) -> Vec<Value> {
        let mut body = json!({"messages": [{"role": "user", "content": text}]});
        body.as_object_mut().unwrap().extend(owner.as_object().unwrap().clone());
        self.post("/memories", body).await["results"].as_array().unwrap().clone()
    }

    /// The texts that a search of the open-source dialect finds, the best first.
    pub(crate) async fn found(&self, query: &str, filters: Value) -> Vec<String> {
        let body = json!({"query": query, "filters": filters, "threshold": 0.01, "top_k": 100});
        texts(&self.post("/search", body).await)
    }

    /// The texts that a list of the platform holds, in order.
    pub(crate) async fn listed(&self, filters: Value) -> Vec<String> {
        let mut texts = texts(&self.post("/v3/memories/", json!({"filters": filters})).await);
        texts.sort();
        texts
    }
}

/// The texts of the rows of an answer.
pub(crate) fn texts(answer: &Value) -> Vec<String> {
    let rows = answer.get("results").unwrap_or(answer).as_array().unwrap();
    rows.iter().map(|row| row["memory"].as_str().unwrap().to_owned()).collect()
}

pub(crate) fn events(results: &[Value]) -> Vec<(&str, &str)> {
    results.iter().map(|row| (row["event"].as_str().unwrap(), row["memory"].as_str().unwrap())).collect()
}
