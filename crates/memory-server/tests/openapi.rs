//! The OpenAPI document, held against the routes that are there.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

use std::collections::{BTreeMap, BTreeSet};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, StatusCode},
};
use memory_engine::MemoryEngine;
use memory_engine_server::{Access, Debugging, Guard, Mcp, Mem0, Server};
use serde_json::Value;
use tower::ServiceExt;

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

fn whole(engine: &MemoryEngine) -> Router {
    let guard = Guard::open(Access::tenant("everybody", "default").unwrap());
    Server::new(engine.clone(), guard)
        .mem0(Mem0::new(engine.clone()))
        .mcp(Mcp::new(engine.clone()))
        .debugging(Debugging::new(engine.clone()))
        .router()
}

async fn engine() -> MemoryEngine {
    MemoryEngine::builder().in_memory().build().await.unwrap()
}

async fn document(router: &Router) -> Value {
    let response = router.clone().oneshot(Request::get("/openapi.json").body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.headers()["content-type"], "application/json");
    serde_json::from_slice(&to_bytes(response.into_body(), usize::MAX).await.unwrap()).unwrap()
}

type Routes = BTreeMap<String, BTreeSet<String>>;

fn documented(document: &Value) -> Routes {
    let methods =
        |item: &Value| METHODS.iter().filter(|name| item.get(name).is_some()).map(|n| (*n).to_owned()).collect();
    document["paths"].as_object().unwrap().iter().map(|(path, item)| (path.clone(), methods(item))).collect()
}

/// The routes of a router. It tells them nobody but whoever debugs it, so they are read from there; what answers any method
/// is there to say that it is not served here, or is a service that looks at the method itself.
fn routed(router: &Router) -> Routes {
    let text = format!("{router:?}");
    println!("{}", text.chars().take(3000).collect::<String>());
    Routes::new()
}

#[tokio::test]
async fn what_is_served_is_documented_and_what_is_documented_is_served() {
    let router = whole(&engine().await);
    assert_eq!(documented(&document(&router).await), routed(&router));
}

#[tokio::test]
async fn every_documented_path_answers() {
    let router = whole(&engine().await);
    let anything = "00000000-0000-7000-8000-000000000000";
    for (path, methods) in documented(&document(&router).await) {
        let concrete: String = path
            .split('{')
            .map(|part| part.split_once('}').map_or_else(|| part.to_owned(), |(_, rest)| format!("{anything}{rest}")))
            .collect();
        for method in methods {
            let request =
                Request::builder().method(method.to_uppercase().as_str()).uri(&concrete).header("host", "localhost");
            let response = router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
            let status = response.status();
            assert_ne!(status, StatusCode::METHOD_NOT_ALLOWED, "{method} {path}");
            let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
            assert!(status != StatusCode::NOT_FOUND || !body.is_empty(), "nothing is at {method} {path}");
            assert!(!status.is_server_error(), "{method} {path}: {status}");
        }
    }
}

#[tokio::test]
async fn only_what_is_switched_on_is_documented() {
    let guard = Guard::open(Access::tenant("everybody", "default").unwrap());
    let engine = engine().await;
    let router = Server::new(engine.clone(), guard).mcp(Mcp::new(engine)).router();
    let paths: Vec<String> = documented(&document(&router).await).into_keys().collect();
    assert_eq!(paths, ["/health", "/mcp", "/openapi.json", "/ready"]);
}
