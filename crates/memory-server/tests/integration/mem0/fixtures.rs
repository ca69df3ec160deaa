//! Fixtures of the tests of mem0's routes.

#![allow(dead_code, reason = "each test binary uses a part of it")]

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

/// The routes over one memory, called with a key or without.
#[derive(Clone)]
pub(crate) struct Api {
    router: Router,
    key: Option<String>,
}

/// A response with its JSON body.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ApiResponse {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

pub(crate) async fn engine() -> MemoryEngine {
    MemoryEngine::builder().in_memory().enrichment(EnrichmentOptions::rules().unwrap()).build().await.unwrap()
}

/// Returns an engine with this clock and without background work.
pub(crate) async fn engine_at(clock: Arc<dyn Clock>) -> MemoryEngine {
    let builder: Builder = MemoryEngine::builder().in_memory().enrichment(EnrichmentOptions::rules().unwrap());
    builder.clock(clock).background(false).build().await.unwrap()
}

impl Api {
    /// Returns the routes over an empty memory, without keys.
    pub(crate) async fn open() -> Self {
        let engine = engine().await;
        // Long timeouts, so that the tests also pass on a busy machine.
        let mem0 = Mem0::new(engine.clone())
            .with_platform_add_timeout(Duration::from_secs(60))
            .with_add_timeout(Duration::from_secs(60));
        Self::over(mem0, engine)
    }

    /// Returns these routes, without keys.
    pub(crate) fn over(mem0: Mem0, engine: MemoryEngine) -> Self {
        let guard = Guard::open(Access::tenant("everybody", "default").unwrap());
        Self { router: Server::new(engine, guard).allowed_hosts(["memory.test"]).mem0(mem0).router(), key: None }
    }

    /// Returns the routes over one memory once for each access, called with a key of that access.
    pub(crate) fn with_keys<const N: usize>(engine: &MemoryEngine, accesses: [Access; N]) -> [Self; N] {
        let keys = accesses.map(|access| (ApiKey::generate(), access));
        let ring = keys.iter().fold(KeyRing::default(), |ring, (key, access)| ring.with_key(key, access.clone()));
        let router = Server::new(engine.clone(), Guard::keys(ring)).mem0(Mem0::new(engine.clone())).router();
        keys.map(|(key, _)| Self { router: router.clone(), key: Some(key.reveal().to_owned()) })
    }

    pub(crate) fn without_key(&self) -> Self {
        Self { key: None, ..self.clone() }
    }

    pub(crate) async fn request(&self, method: &str, path: &str, body: Option<Value>) -> ApiResponse {
        self.request_raw(method, path, body.map(|body| body.to_string())).await
    }

    pub(crate) async fn request_raw(&self, method: &str, path: &str, body: Option<String>) -> ApiResponse {
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
        ApiResponse { status: parts.status.as_u16(), headers: parts.headers, body }
    }

    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> impl Future<Output = Value> {
        self.request_ok("GET", path, None)
    }

    #[track_caller]
    pub(crate) fn post(&self, path: &str, body: Value) -> impl Future<Output = Value> {
        self.request_ok("POST", path, Some(body))
    }

    #[track_caller]
    pub(crate) fn put(&self, path: &str, body: Value) -> impl Future<Output = Value> {
        self.request_ok("PUT", path, Some(body))
    }

    #[track_caller]
    pub(crate) fn delete(&self, path: &str) -> impl Future<Output = Value> {
        self.request_ok("DELETE", path, None)
    }

    #[track_caller]
    pub(crate) fn request_ok(&self, method: &str, path: &str, body: Option<Value>) -> impl Future<Output = Value> {
        let caller = std::panic::Location::caller();
        let (api, method, path) = (self.clone(), method.to_owned(), path.to_owned());
        async move {
            let response = api.request(&method, &path, body).await;
            assert_eq!(response.status, 200, "{caller}: {method} {path}: {}", response.body);
            response.body
        }
    }

    /// Stores a text without extracting facts, and returns its id.
    pub(crate) async fn add_note(&self, owner: Value, text: &str) -> String {
        self.add_note_with(owner, text, Value::Null).await
    }

    pub(crate) async fn add_note_with(&self, owner: Value, text: &str, metadata: Value) -> String {
        let mut body = json!({"messages": [{"role": "user", "content": text}], "infer": false, "metadata": metadata});
        body.as_object_mut().unwrap().extend(owner.as_object().unwrap().clone());
        let added = self.post("/memories", body).await;
        added["results"][0]["id"].as_str().unwrap().to_owned()
    }

    /// Adds a message of the user, and returns the results.
    pub(crate) async fn add_message(&self, owner: Value, text: &str) -> Vec<Value> {
        let mut body = json!({"messages": [{"role": "user", "content": text}]});
        body.as_object_mut().unwrap().extend(owner.as_object().unwrap().clone());
        self.post("/memories", body).await["results"].as_array().unwrap().clone()
    }

    /// Returns the texts that a search of the open-source server finds, best first.
    pub(crate) async fn search_texts(&self, query: &str, filters: Value) -> Vec<String> {
        let body = json!({"query": query, "filters": filters, "threshold": 0.01, "top_k": 100});
        texts(&self.post("/search", body).await)
    }

    /// Returns the texts of a list of the platform, sorted.
    pub(crate) async fn list_texts(&self, filters: Value) -> Vec<String> {
        let mut texts = texts(&self.post("/v3/memories/", json!({"filters": filters})).await);
        texts.sort();
        texts
    }
}

/// Returns the texts of the rows of a response.
pub(crate) fn texts(response: &Value) -> Vec<String> {
    let rows = response.get("results").unwrap_or(response).as_array().unwrap();
    rows.iter().map(|row| row["memory"].as_str().unwrap().to_owned()).collect()
}

/// Returns the event and the text of each result.
pub(crate) fn events(results: &[Value]) -> Vec<(&str, &str)> {
    results.iter().map(|row| (row["event"].as_str().unwrap(), row["memory"].as_str().unwrap())).collect()
}
