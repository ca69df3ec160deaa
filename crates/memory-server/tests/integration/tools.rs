//! The backends of other frameworks' tools over HTTP.

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, StatusCode},
};
use memory_engine::MemoryEngine;
use memory_engine_server::{Access, ApiKey, Guard, KeyRing, Server, Tools};
use serde_json::{Value, json};
use tower::ServiceExt;

async fn router() -> (Router, String) {
    let engine = MemoryEngine::builder().in_memory().build().await.unwrap();
    let key = ApiKey::generate();
    let access = Access::tenant("phone", "acme").unwrap().only_users(["lin", "mei"]).unwrap();
    let guard = Guard::keys(KeyRing::default().with_key(&key, access));
    (Server::new(engine.clone(), guard).tools(Tools::new(engine)).router(), key.reveal().to_owned())
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

#[tokio::test]
async fn items_and_vector_searches_have_clear_errors() {
    let (router, key) = router().await;
    for (method, path, body, expected) in [
        ("PUT", "/store/items?user_id=lin", r#"{"namespace":["a"],"key":"k"}"#, "missing field `value`"),
        (
            "PUT",
            "/store/items?user_id=lin",
            r#"{"namespace":["a"],"key":"k","value":{},"ttl":5}"#,
            "ttl is not supported",
        ),
        ("PUT", "/store/items?user_id=lin", r#"{"namespace":[],"key":"k","value":{}}"#, "has 0 labels"),
        ("POST", "/store/items/search?user_id=lin", r#"{"filter":{"a":{"$near":1}}}"#, "$near"),
        ("POST", "/store/items/search?user_id=lin", r#"{"namespace_prefx":["a"]}"#, "`namespace_prefix`"),
        ("POST", "/store/namespaces?user_id=lin", r#"{"namespace_prefix":["a"]}"#, "`prefix`"),
        ("DELETE", "/store/items?user_id=lin", r#"{"namespaces":["a"],"key":"k"}"#, "`namespace`"),
        ("GET", "/store/items?user_id=lin&namespace=a&key=k&ttl=5", "", "`ttl`"),
        ("POST", "/v1/vector_stores/lin/search", r#"{"query":"x","max_num_results":51}"#, "from 1 to 50"),
        ("POST", "/v1/vector_stores/lin/search", r#"{"query":" "}"#, "query is empty"),
        (
            "POST",
            "/v1/vector_stores/lin/search",
            r#"{"query":"x","filters":{"type":"eq","key":"colour","value":"red"}}"#,
            "the keys are kind, session_id",
        ),
        (
            "POST",
            "/v1/vector_stores/lin/search",
            r#"{"query":"x","filters":{"type":"gt","key":"kind","value":"note"}}"#,
            "the attributes have no order",
        ),
    ] {
        let request = Request::builder().method(method).uri(path).header("x-api-key", &key);
        let response = router.clone().oneshot(request.body(Body::from(body)).unwrap()).await.unwrap();
        let status = response.status();
        let bytes = to_bytes(response.into_body(), 1 << 20).await.unwrap();
        let answer = String::from_utf8(bytes.to_vec()).unwrap();
        assert_eq!(status, StatusCode::BAD_REQUEST, "{body}: {answer}");
        assert!(answer.contains(expected), "{body}: {answer}");
    }
    // Clients of other languages send null for a field that they leave out.
    for (path, body) in [
        ("/store/items/search", r#"{"namespace_prefix":null,"filter":null,"limit":null,"offset":null,"query":null}"#),
        ("/store/namespaces", r#"{"prefix":null,"suffix":null,"max_depth":null,"limit":null,"offset":null}"#),
    ] {
        let search = Request::post(format!("{path}?user_id=lin")).header("x-api-key", &key);
        let response = router.clone().oneshot(search.body(Body::from(body)).unwrap()).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK, "{path}");
    }
    // The name of the vector store is the user: another one is out of reach.
    let search = Request::post("/v1/vector_stores/wang/search").header("x-api-key", &key);
    let response = router.clone().oneshot(search.body(Body::from(r#"{"query":"x"}"#)).unwrap()).await.unwrap();
    assert_eq!(response.status(), StatusCode::FORBIDDEN);
}
