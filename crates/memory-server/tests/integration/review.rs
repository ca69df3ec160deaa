//! The review of memories over HTTP.

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, StatusCode},
};
use memory_engine::{EnrichmentOptions, MemoryEngine, Record, Scope, State, Turn, review::ReviewQuery};
use memory_engine_server::{Access, ApiKey, Config, Guard, KeyRing, Mcp, Mem0, Reviews, Server, Tools};
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
    assert_eq!(engine.history().restore(&user("lin"), retraction).await.unwrap(), 1);
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
        ("/accept?user_id=lin", json!({ "ids": [] }), StatusCode::BAD_REQUEST, "from 1 to 500"),
        ("/accept?user_id=lin", json!({ "ids": vec![id; 501] }), StatusCode::BAD_REQUEST, "from 1 to 500"),
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

/// A server with the doors through which models and programs write, under a policy that reviews everything.
struct Reviewed {
    engine: MemoryEngine,
    router: Router,
    key: String,
}

impl Reviewed {
    async fn new() -> Self {
        let builder = MemoryEngine::builder().in_memory().background(false);
        let engine = builder.review("all=review".parse().unwrap()).build().await.unwrap();
        let key = ApiKey::generate();
        let access = Access::tenant("model", "acme").unwrap().only_users(["lin"]).unwrap();
        let router = Server::new(engine.clone(), Guard::keys(KeyRing::default().with_key(&key, access)))
            .mem0(Mem0::new(engine.clone()))
            .mcp(Mcp::new(engine.clone()))
            .tools(Tools::new(engine.clone()))
            .router();
        Self { engine, router, key: key.reveal().to_owned() }
    }

    async fn send(&self, method: &str, path: &str, body: Value) -> (StatusCode, Value) {
        let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
        let request = request.header("accept", "application/json, text/event-stream").header("host", "localhost");
        send(&self.router, &self.key, request, &body.to_string()).await
    }

    async fn tool(&self, name: &str, arguments: Value) -> Value {
        let params = json!({ "name": name, "arguments": arguments });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let (status, answer) = self.send("POST", "/mcp", call).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        answer["result"].clone()
    }

    async fn waiting(&self) -> Vec<Record> {
        let page = self.engine.review().pending(&user("lin"), &ReviewQuery::default()).await.unwrap();
        page.pending.into_iter().map(|pending| pending.record).collect()
    }

    async fn accept_all(&self) {
        let ids: Vec<_> = self.waiting().await.iter().map(|record| record.id).collect();
        assert_eq!(self.engine.review().accept(&user("lin"), &ids).await.unwrap().accepted.len(), ids.len());
    }

    /// Returns the texts of the active memories.
    async fn active(&self) -> Vec<String> {
        let records = self.engine.records(&user("lin")).collect().await.unwrap();
        records.into_iter().filter(|record| record.state == State::Active).map(|record| record.text).collect()
    }
}

#[tokio::test]
async fn what_a_model_writes_waits_at_every_door() {
    let server = Reviewed::new().await;
    let notes = |role: &str, text: &str| json!({ "user_id": "lin", "messages": [{ "role": role, "content": text }], "infer": false });
    let file = json!({ "command": "create", "path": "/memories/a.md", "file_text": "the boss allows it, in a file" });
    let item = json!({ "namespace": ["a"], "key": "k", "value": { "text": "老板允许" } });
    for (method, path, body) in [
        ("POST", "/v1/memory-tool", file),
        ("PUT", "/store/items", item),
        ("POST", "/memories", notes("assistant", "the boss allows it, says mem0")),
        ("POST", "/memories", notes("user", "the boss allows it, says a program")),
        ("POST", "/v1/memories/", notes("tool", "the boss allows it, says a tool")),
        ("POST", "/v3/memories/add/", notes("assistant", "the boss allows it, says the platform")),
    ] {
        let before = server.waiting().await.len();
        let (status, answer) = server.send(method, path, body).await;
        assert!(status.is_success() && answer.to_string().contains("waits"), "{path}: {status} {answer}");
        assert_eq!(server.waiting().await.len(), before + 1, "{path}");
    }
    server.tool("add_memory", json!({ "text": "the boss allows it, says MCP" })).await;
    assert_eq!(server.active().await, Vec::<String>::new());
    assert!(server.engine.recall(&user("lin"), "boss 老板").await.unwrap().hits.is_empty());
}

#[tokio::test]
async fn changes_of_an_accepted_memory_wait_and_it_stays() {
    let server = Reviewed::new().await;
    let id = server.engine.remember(&user("lin"), Turn::note("the locker is in hall four")).await.unwrap();
    let changed = server.tool("update_memory", json!({ "id": id, "text": "柜子在九号大厅" })).await;
    assert_eq!(changed["structuredContent"]["memory"], "the locker is in hall four");
    assert!(changed["content"].to_string().contains("waits until a person accepts it"), "{changed}");
    let changes = [
        ("PUT", format!("/memories/{id}"), json!({ "text": "hall nine, by mem0" })),
        ("PUT", format!("/v1/memories/{id}/"), json!({ "text": "hall nine, by the platform" })),
        ("PUT", "/v1/batch/".to_owned(), json!({ "memories": [{ "memory_id": id, "text": "hall nine, by a batch" }] })),
    ];
    for (method, path, body) in changes {
        let (status, answer) = server.send(method, &path, body).await;
        assert!(status.is_success() && answer.to_string().contains("wait"), "{path}: {status} {answer}");
        assert_eq!(server.active().await, ["the locker is in hall four"], "{path}");
        // The latest change takes the place of the one before.
        assert_eq!(server.waiting().await.len(), 1, "{path}");
    }
    let evidence = server.engine.review().pending(&user("lin"), &ReviewQuery::default()).await.unwrap();
    assert_eq!(evidence.pending[0].evidence[0].text, "the locker is in hall four");
    server.accept_all().await;
    assert_eq!(server.active().await, ["hall nine, by a batch"]);
    assert_eq!(server.engine.get(&user("lin"), id).await.unwrap().unwrap().text, "hall nine, by a batch");
    assert!(server.waiting().await.is_empty());
}

#[tokio::test]
async fn metadata_waits_and_pins_and_ratings_count_at_once() {
    let server = Reviewed::new().await;
    let id = server.engine.remember(&user("lin"), Turn::note("the locker is in hall four")).await.unwrap();
    let (_, answer) = server.send("PUT", &format!("/memories/{id}"), json!({ "metadata": { "hall": "nine" } })).await;
    assert!(answer.to_string().contains("waits"), "{answer}");
    let (_, answer) = server.send("POST", "/v1/feedback/", json!({ "memory_id": id, "feedback": "POSITIVE" })).await;
    assert_eq!(answer["feedback"], "POSITIVE");
    server.tool("update_memory", json!({ "id": id, "pinned": true })).await;
    let (_, before) = server.send("GET", &format!("/memories/{id}"), Value::Null).await;
    assert_eq!(before["metadata"], Value::Null, "{before}");
    server.accept_all().await;
    let (_, after) = server.send("GET", &format!("/memories/{id}"), Value::Null).await;
    assert_eq!(after["metadata"], json!({ "hall": "nine" }), "{after}");
    assert!(server.engine.get(&user("lin"), id).await.unwrap().unwrap().pinned);
    assert!(server.waiting().await.is_empty());
}

#[tokio::test]
async fn a_waiting_memory_cannot_be_reached_and_its_event_is_pending() {
    let server = Reviewed::new().await;
    let message = json!([{ "role": "user", "content": "the boss allows it" }]);
    let body = json!({ "user_id": "lin", "messages": message, "infer": false });
    let (_, added) = server.send("POST", "/v3/memories/add/", body).await;
    assert_eq!(added["status"], "PENDING", "{added}");
    let id = added["event_id"].as_str().unwrap();
    let (status, _) = server.send("PUT", &format!("/memories/{id}"), json!({ "text": "x" })).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let (_, event) = server.send("GET", &format!("/v1/event/{id}/"), Value::Null).await;
    assert_eq!((&event["status"], &event["results"]), (&json!("PENDING"), &json!([])), "{event}");
    server.accept_all().await;
    let (_, event) = server.send("GET", &format!("/v1/event/{id}/"), Value::Null).await;
    assert_eq!((&event["status"], &event["results"][0]["memory"]), (&json!("SUCCEEDED"), &json!("the boss allows it")));
}

#[tokio::test]
async fn a_server_without_the_review_api_corrects_no_reviewed_texts() {
    let key = ApiKey::generate();
    for (policy, expected) in [("all=automatic", StatusCode::OK), ("facts=review", StatusCode::FORBIDDEN)] {
        let builder = MemoryEngine::builder().in_memory().background(false);
        let engine = builder.review(policy.parse().unwrap()).build().await.unwrap();
        let id = engine.remember(&Scope::user("lin").unwrap(), Turn::note("hall four")).await.unwrap();
        let keys = format!(
            "[metrics]\nenabled = false\n[review_api]\nenabled = false\n[[keys]]\nname = \"lin\"\nhash = \"{}\"\n",
            key.hash()
        );
        let config: Config = toml::from_str(&keys).unwrap();
        let router = config.server(&engine, |_| None).unwrap().router();
        let request = Request::post("/api/records/edit").header("host", "localhost");
        let body = json!({ "user_id": "lin", "id": id, "text": "hall nine" }).to_string();
        let (status, answer) = send(&router, key.reveal(), request, &body).await;
        assert_eq!(status, expected, "{policy}: {answer}");
    }
}

#[tokio::test]
async fn a_change_of_a_fact_waits_and_is_accepted_or_rejected() {
    let builder = MemoryEngine::builder().in_memory().enrichment(EnrichmentOptions::rules().unwrap()).background(false);
    let engine = builder.review("tools=review".parse().unwrap()).build().await.unwrap();
    say(&engine, "lin", &["I live in Porto.", "我对海鲜过敏。"]).await;
    let key = ApiKey::generate();
    let access = Access::tenant("model", "acme").unwrap().only_users(["lin"]).unwrap();
    let guard = Guard::keys(KeyRing::default().with_key(&key, access));
    let router = Server::new(engine.clone(), guard).mem0(Mem0::new(engine.clone())).router();
    let values = async || {
        let facts = engine.facts(&user("lin")).await.unwrap();
        let mut values: Vec<String> = facts.iter().map(|fact| fact.value.clone()).collect();
        values.sort_unstable();
        values
    };
    let home = engine.facts(&user("lin")).attribute("home").await.unwrap().remove(0).id;
    let change = async |text: &str| {
        let request = Request::put(format!("/memories/{home}")).header("content-type", "application/json");
        let (status, answer) = send(&router, key.reveal(), request, &json!({ "text": text }).to_string()).await;
        assert!(status.is_success() && answer.to_string().contains("waits"), "{status} {answer}");
        engine.drain(&user("lin"), |_| ()).await.unwrap();
        let page = engine.review().pending(&user("lin"), &ReviewQuery::default()).await.unwrap();
        page.pending[0].record.id
    };
    let waiting = change("Braga").await;
    assert_eq!(values().await, ["Porto", "海鲜"]);
    engine.review().reject(&user("lin"), &[waiting], "no").await.unwrap();
    engine.drain(&user("lin"), |_| ()).await.unwrap();
    assert_eq!(values().await, ["Porto", "海鲜"]);
    let waiting = change("Lisbon").await;
    engine.review().accept(&user("lin"), &[waiting]).await.unwrap();
    engine.drain(&user("lin"), |_| ()).await.unwrap();
    assert_eq!(values().await, ["Lisbon", "海鲜"]);
    assert!(engine.get(&user("lin"), waiting).await.unwrap().is_none());
}
