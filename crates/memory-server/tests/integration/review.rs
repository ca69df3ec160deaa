//! The review of memories over HTTP.

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, StatusCode},
};
use memory_engine::{EnrichmentOptions, MemoryEngine, Scope, Turn};
use memory_engine_server::{Access, ApiKey, Guard, KeyRing, Reviews, Server};
use serde_json::{Value, json};
use tower::ServiceExt;

async fn engine() -> MemoryEngine {
    let builder = MemoryEngine::builder().in_memory().enrichment(EnrichmentOptions::rules().unwrap()).background(false);
    builder.review("facts=review,imports=review".parse().unwrap()).build().await.unwrap()
}

/// Returns a server with a key for two users.
fn router(engine: &MemoryEngine) -> (Router, String) {
    let key = ApiKey::generate();
    let access = Access::tenant("desk", "acme").unwrap().only_users(["lin", "mei"]).unwrap();
    let guard = Guard::keys(KeyRing::default().with_key(&key, access));
    (Server::new(engine.clone(), guard).reviews(Reviews::new(engine.clone())).router(), key.reveal().to_owned())
}

fn user(name: &str) -> Scope {
    Scope::tenant_wide("acme").unwrap().with_user(name).unwrap()
}

async fn say(engine: &MemoryEngine, name: &str, texts: &[&str]) {
    let session = user(name).with_session("monday").unwrap();
    for (minute, text) in (0..).zip(texts) {
        let time: memory_engine::Timestamp = format!("2026-02-18T20:{minute:02}:00Z").parse().unwrap();
        engine.remember(&session, Turn::user(*text).at(time)).await.unwrap();
    }
    engine.drain(&user(name), |_| ()).await.unwrap();
}

async fn send(router: &Router, key: &str, request: axum::http::request::Builder, body: &str) -> (StatusCode, Value) {
    let request = request.header("x-api-key", key).body(Body::from(body.to_owned())).unwrap();
    let response = router.clone().oneshot(request).await.unwrap();
    let status = response.status();
    let bytes = to_bytes(response.into_body(), 1 << 20).await.unwrap();
    (status, serde_json::from_slice(&bytes).unwrap_or_default())
}

async fn list(router: &Router, key: &str, query: &str) -> Value {
    let (status, answer) = send(router, key, Request::get(format!("/api/review{query}")), "").await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    answer
}

async fn post(router: &Router, key: &str, path: &str, body: Value) -> (StatusCode, Value) {
    send(router, key, Request::post(format!("/api/review{path}")), &body.to_string()).await
}

#[tokio::test]
async fn memories_are_listed_accepted_rejected_and_edited() {
    let engine = engine().await;
    let (router, key) = router(&engine);
    say(&engine, "lin", &["I live in Porto.", "我对海鲜过敏。", "I'm allergic to walnuts."]).await;
    let first = list(&router, &key, "?user_id=lin&limit=2").await;
    assert_eq!((first["total"].as_u64(), first["pending"].as_array().unwrap().len()), (Some(3), 2));
    let home = &first["pending"][0];
    assert_eq!(
        (&home["source"], &home["kind"], &home["user_id"]),
        (&json!("rule_facts"), &json!("fact"), &json!("lin"))
    );
    assert_eq!(home["evidence"][0]["text"], "I live in Porto.");
    assert!(home["rule"].as_str().unwrap().starts_with("en."), "{home}");
    let next = first["next"].as_str().unwrap();
    let second = list(&router, &key, &format!("?user_id=lin&after={next}")).await;
    assert_eq!((second["pending"].as_array().unwrap().len(), &second["next"]), (1, &Value::Null));
    let (seafood, walnuts) = (&first["pending"][1]["id"], &second["pending"][0]["id"]);

    let (_, accepted) = post(&router, &key, "/accept?user_id=lin", json!({ "ids": [seafood, seafood] })).await;
    assert_eq!(accepted, json!({ "accepted": [seafood], "skipped": [], "blocked": [] }));
    let (_, rejected) = post(&router, &key, "/reject?user_id=lin", json!({ "ids": [walnuts], "reason": "no" })).await;
    assert_eq!(rejected["rejected"], json!([walnuts]));
    let (_, edited) = post(&router, &key, "/edit?user_id=lin", json!({ "id": home["id"], "text": "Braga" })).await;
    assert_ne!(edited["id"], home["id"]);
    assert_eq!(list(&router, &key, "?user_id=lin").await["total"], 0);
    let facts = engine.facts(&user("lin")).await.unwrap();
    let mut values: Vec<&str> = facts.iter().map(|fact| fact.value.as_str()).collect();
    values.sort_unstable();
    assert_eq!(values, ["Braga", "海鲜"]);
    let retraction = rejected["retraction"].as_str().unwrap().parse().unwrap();
    assert_eq!(engine.restore(&user("lin"), retraction).await.unwrap(), 1);
    assert_eq!(list(&router, &key, "?user_id=lin&source=rule_facts&kind=fact").await["pending"][0]["id"], *walnuts);
    let (_, none) = post(&router, &key, "/reject?user_id=lin", json!({ "ids": [seafood] })).await;
    assert_eq!(none, json!({ "retraction": null, "rejected": [] }));
}

#[tokio::test]
async fn a_key_reviews_only_its_own_memories() {
    let engine = engine().await;
    let (router, key) = router(&engine);
    say(&engine, "mei", &["I live in Porto."]).await;
    say(&engine, "wang", &["I live in Braga."]).await;
    let pending = list(&router, &key, "?user_id=mei").await;
    assert_eq!(pending["total"], 1);
    let id = &pending["pending"][0]["id"];
    assert_eq!(list(&router, &key, "?user_id=lin").await["total"], 0);
    assert_eq!(list(&router, &key, "?user_id=mei&session_id=tuesday").await["total"], 0);
    let (_, skipped) = post(&router, &key, "/accept?user_id=lin", json!({ "ids": [id] })).await;
    assert_eq!(skipped["skipped"], json!([id]));
    let (status, _) = post(&router, &key, "/edit?user_id=lin", json!({ "id": id, "text": "Lisbon" })).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let (status, _) = post(&router, &key, "/accept?user_id=wang", json!({ "ids": [id] })).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert!(engine.facts(&user("mei")).await.unwrap().is_empty());
}

#[tokio::test]
async fn wrong_requests_are_explained() {
    let engine = engine().await;
    let (router, key) = router(&engine);
    let id = "0198c0de-0000-7000-8000-000000000000";
    for (query, expected) in [
        ("?user_id=lin&limit=501", "from 1 to 500"),
        ("?user_id=lin&limit=0", "from 1 to 500"),
        ("?user_id=lin&source=rules", "rule_facts"),
        ("?user_id=lin&since=yesterday", "time"),
        ("?user_id=lin&after=x", "cursor"),
        ("?user=lin", "user_id"),
    ] {
        let (status, answer) = send(&router, &key, Request::get(format!("/api/review{query}")), "").await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{query}: {answer}");
        assert!(answer.to_string().contains(expected), "{query}: {answer}");
    }
    for (path, body, status, expected) in [
        ("/accept?user_id=lin", json!({ "ids": [] }), StatusCode::BAD_REQUEST, "empty"),
        ("/accept?user_id=lin", json!({ "ids": vec![id; 501] }), StatusCode::BAD_REQUEST, "the maximum is 500"),
        ("/accept?user_id=lin", json!({ "ids": ["one"] }), StatusCode::BAD_REQUEST, "send"),
        ("/accept?user_id=lin", json!({ "id": id }), StatusCode::BAD_REQUEST, "ids"),
        ("/edit?user_id=lin", json!({ "id": id, "text": " " }), StatusCode::BAD_REQUEST, "empty"),
        ("/edit?user_id=lin", json!({ "id": id, "text": "x" }), StatusCode::NOT_FOUND, id),
        ("/reject", json!({ "ids": [id] }), StatusCode::FORBIDDEN, "name one of them"),
        ("/reject?user=lin", json!({ "ids": [id] }), StatusCode::BAD_REQUEST, "user_id"),
    ] {
        let (found, answer) = post(&router, &key, path, body).await;
        assert_eq!(found, status, "{path}: {answer}");
        assert!(answer.to_string().contains(expected), "{path}: {answer}");
    }
    let (status, _) = send(&router, "wrong", Request::get("/api/review?user_id=lin"), "").await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
}
