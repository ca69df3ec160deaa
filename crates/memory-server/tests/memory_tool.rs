//! Anthropic's memory tool over HTTP.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, StatusCode},
};
use memory_engine::MemoryEngine;
use memory_engine_server::{Access, ApiKey, Guard, KeyRing, MemoryToolApi, Server};
use serde_json::{Value, json};
use tower::ServiceExt;

async fn router() -> (Router, String) {
    let engine = MemoryEngine::builder().in_memory().build().await.unwrap();
    let key = ApiKey::generate();
    let access = Access::tenant("phone", "acme").unwrap().only_users(["lin", "mei"]).unwrap();
    let guard = Guard::keys(KeyRing::default().with_key(&key, access));
    (Server::new(engine.clone(), guard).memory_tool(MemoryToolApi::new(engine)).router(), key.reveal().to_owned())
}

async fn call(router: &Router, key: &str, query: &str, body: &str) -> (StatusCode, Value) {
    let request = Request::post(format!("/v1/memory-tool{query}"))
        .header("x-api-key", key)
        .header("content-type", "application/json")
        .body(Body::from(body.to_owned()))
        .unwrap();
    let response = router.clone().oneshot(request).await.unwrap();
    let status = response.status();
    let bytes = to_bytes(response.into_body(), 1 << 20).await.unwrap();
    (status, serde_json::from_slice(&bytes).unwrap_or_default())
}

#[tokio::test]
async fn commands_are_executed_for_their_user() {
    let (router, key) = router().await;
    let create = json!({ "command": "create", "path": "/memories/a.md", "file_text": "tea" }).to_string();
    let (status, created) = call(&router, &key, "?user_id=lin", &create).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(created, json!({ "content": "File created successfully at: /memories/a.md", "is_error": false }));
    let view = r#"{"command":"view","path":"/memories/a.md"}"#;
    assert_eq!(call(&router, &key, "?user_id=lin", view).await.1["is_error"], false);
    assert_eq!(call(&router, &key, "?user_id=mei", view).await.1["is_error"], true);
}

#[tokio::test]
async fn refusals_are_explained() {
    let (router, key) = router().await;
    let view = r#"{"command":"view","path":"/memories"}"#;
    for (key, query, body, status, expected) in [
        (key.as_str(), "", view, StatusCode::FORBIDDEN, "name one of them"),
        (&key, "?user_id=wang", view, StatusCode::FORBIDDEN, "no access"),
        (&key, "?user=lin", view, StatusCode::BAD_REQUEST, "user_id"),
        (&key, "?user_id=lin", "view", StatusCode::BAD_REQUEST, "tool_use"),
        ("wrong", "?user_id=lin", view, StatusCode::UNAUTHORIZED, "not valid"),
    ] {
        let (found, answer) = call(&router, key, query, body).await;
        assert_eq!(found, status, "{query}: {answer}");
        assert!(answer.to_string().contains(expected), "{query}: {answer}");
    }
}
