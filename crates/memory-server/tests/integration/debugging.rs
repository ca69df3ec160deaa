//! The debug API.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, StatusCode},
};
use memory_engine::{MemoryEngine, RecordId, Scope, Turn, testing::ManualClock};
use memory_engine_server::{Access, ApiKey, Debugging, Guard, KeyRing, Server};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::support::wait_until;

fn session(user: &str, session: &str) -> Scope {
    Scope::user(user).unwrap().with_session(session).unwrap()
}

async fn engine(background: bool) -> MemoryEngine {
    MemoryEngine::builder().in_memory().background(background).build().await.unwrap()
}

fn debug_router(engine: &MemoryEngine) -> Router {
    let guard = Guard::open(Access::tenant("everybody", "default").unwrap());
    Server::new(engine.clone(), guard).debugging(Debugging::new(engine.clone())).router()
}

async fn send(router: &Router, method: &str, uri: &str, body: Option<Value>) -> (StatusCode, Value) {
    let request = Request::builder().method(method).uri(uri).header("content-type", "application/json");
    let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
    let response = router.clone().oneshot(request.body(body).unwrap()).await.unwrap();
    let status = response.status();
    let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    (
        status,
        serde_json::from_slice(&bytes).unwrap_or_else(|_| panic!("{method} {uri} gave {bytes:?}, which is not JSON")),
    )
}

#[tokio::test]
async fn r14_counts_one_session() {
    let engine = engine(true).await;
    for (user, name, text) in
        [("lin", "s1", "one"), ("lin", "s1", "two"), ("lin", "s2", "three"), ("mei", "s1", "four")]
    {
        engine.remember(&session(user, name), text).await.unwrap();
    }
    let router = debug_router(&engine);
    let (status, stats) = send(&router, "GET", "/api/memory/s1/stats?user_id=lin", None).await;
    assert_eq!((status, &stats["records"], &stats["kinds"]["turn"]), (StatusCode::OK, &json!(2), &json!(2)));
    assert_eq!(stats["session_id"], "s1");
    assert_eq!(stats["failures"], json!([]));
    assert!(stats["embedder"].as_str().unwrap().contains("-d"), "{stats}");
    // Without a user, a key for all users counts the sessions of this name of all of them.
    assert_eq!(send(&router, "GET", "/api/memory/s1/stats", None).await.1["records"], 3);
    assert_eq!(send(&router, "GET", "/api/memory/none/stats?user_id=lin", None).await.1["records"], 0);
}

#[tokio::test]
async fn r14_reindex_reports_progress_and_is_idempotent() {
    let engine = engine(false).await;
    for n in 0..5 {
        engine.remember(&session("lin", "周一"), format!("第{n}句")).await.unwrap();
    }
    engine.remember(&session("lin", "s2"), "elsewhere").await.unwrap();
    engine.drain(&session("lin", "周一"), |_| {}).await.unwrap();
    let router = debug_router(&engine);
    let path = "/api/memory/%E5%91%A8%E4%B8%80/reindex";
    let (status, first) = send(&router, "POST", &format!("{path}?user_id=lin"), None).await;
    assert_eq!(status, StatusCode::ACCEPTED);
    assert_eq!((&first["status"], &first["total"], &first["waiting"]), (&json!("running"), &json!(10), &json!(10)));
    let (_, second) = send(&router, "POST", &format!("{path}?user_id=lin"), None).await;
    assert_eq!(second, first);
    let id = first["id"].as_str().unwrap();
    let progress_path = format!("{path}/{id}?user_id=lin");
    assert_eq!(send(&router, "GET", &progress_path, None).await.1, first);
    assert_eq!(engine.drain(&session("lin", "周一"), |_| {}).await.unwrap(), 10);
    let (_, done) = send(&router, "GET", &progress_path, None).await;
    assert_eq!((&done["status"], &done["done"], &done["waiting"]), (&json!("done"), &json!(10), &json!(0)));
    for other in
        [format!("{path}/{}?user_id=lin", RecordId::new()), format!("{path}/{id}?user_id=mei"), format!("{path}/{id}")]
    {
        let (status, answer) = send(&router, "GET", &other, None).await;
        assert_eq!(status, StatusCode::NOT_FOUND);
        assert!(answer["detail"].as_str().unwrap().contains("reindex"), "{answer}");
    }
}

#[tokio::test]
async fn background_finishes_a_reindex() {
    let engine = engine(true).await;
    engine.remember(&session("lin", "s1"), "one").await.unwrap();
    let router = debug_router(&engine);
    let (_, started) = send(&router, "POST", "/api/memory/s1/reindex?user_id=lin", None).await;
    let progress_path = format!("/api/memory/s1/reindex/{}?user_id=lin", started["id"].as_str().unwrap());
    let is_done = async || send(&router, "GET", &progress_path, None).await.1["status"] == "done";
    wait_until("the reindex is done", is_done).await;
}

#[tokio::test]
async fn a_search_as_of_a_time_finds_the_memories_of_that_time() {
    let clock = Arc::new(ManualClock::new("2026-05-01T09:00:00Z".parse().unwrap()));
    let engine = MemoryEngine::builder().in_memory().clock(clock.clone()).background(false).build().await.unwrap();
    let scope = session("lin", "s1");
    let id = engine.remember(&scope, Turn::note("The spare key is under the mat")).await.unwrap();
    clock.advance(Duration::from_secs(24 * 60 * 60));
    engine.update(&scope, id, "The spare key is with Mo").await.unwrap();
    let router = debug_router(&engine);
    let search = async |as_of: &str| {
        let uri = format!("/api/memory/s1/search?user_id=lin&q=spare%20key&why={id}{as_of}");
        send(&router, "GET", &uri, None).await
    };
    let text = |answer: &Value| answer["hits"][0]["record"]["text"].as_str().map(str::to_owned);
    assert_eq!(text(&search("").await.1).as_deref(), Some("The spare key is with Mo"));
    assert_eq!(text(&search("&as_of=2026-05-01T12:00:00Z").await.1).as_deref(), Some("The spare key is under the mat"));
    let (_, before) = search("&as_of=2026-04-30").await;
    assert_eq!(text(&before), None);
    assert_eq!(before["why"]["verdict"], json!({ "not_then": { "as_of": "2026-04-30T00:00:00Z" } }));
    let (status, answer) = search("&as_of=May").await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(answer["detail"].as_str().unwrap().contains("2026-03-02"), "{answer}");
}

#[tokio::test]
async fn r14_search_explains_retrievers_and_stages() {
    let engine = engine(true).await;
    let scope = session("lin", "s1");
    let id = engine.remember(&scope, Turn::user("面试改到周五下午").with_scene("daily")).await.unwrap();
    let other = engine.remember(&scope, Turn::user("the dragon guards the bridge").with_scene("plot")).await.unwrap();
    engine.remember(&session("lin", "s2"), "另一次面试").await.unwrap();
    engine.drain(&scope, |_| {}).await.unwrap();
    let router = debug_router(&engine);
    let uri = "/api/memory/s1/search?user_id=lin&q=%E9%9D%A2%E8%AF%95&limit=5&scene=daily";
    let (status, by_url) = send(&router, "GET", uri, None).await;
    assert_eq!(status, StatusCode::OK, "{by_url}");
    let hit = &by_url["hits"][0];
    assert_eq!((&hit["record"]["id"], &hit["place"]), (&json!(id), &json!(1)));
    let retrievers: Vec<&str> =
        hit["found_by"].as_array().unwrap().iter().map(|f| f["retriever"].as_str().unwrap()).collect();
    assert!(retrievers.contains(&"keyword"), "{hit}");
    assert!(hit["found_by"].as_array().unwrap().iter().all(|found| found["rank"].as_u64().unwrap() >= 1));
    assert!(hit["explanation"].as_str().unwrap().contains("keyword #1"), "{hit}");
    assert!(by_url["hits"].as_array().unwrap().iter().all(|hit| hit["record"]["scope"]["session"] == "s1"));
    assert!(by_url["stages"].as_array().unwrap().iter().all(|stage| stage["ms"].is_number()));

    let query = json!({ "query": "面试", "limit": 5, "scene": "plot", "why": id });
    let (status, by_body) = send(&router, "POST", "/api/memory/s1/search?user_id=lin", Some(query)).await;
    assert_eq!(status, StatusCode::OK, "{by_body}");
    let why = by_body["why"]["explanation"].as_str().unwrap();
    assert!(why.contains("cannot be seen from plot"), "{why}");
    assert!(by_body["hits"].as_array().unwrap().iter().all(|hit| hit["record"]["id"] == json!(other)));
}

#[tokio::test]
async fn errors_are_json() {
    let engine = engine(true).await;
    let router = debug_router(&engine);
    let search = "/api/memory/s1/search?user_id=lin";
    for (method, uri, body, status, expected) in [
        ("GET", "/api/memory/s1/stats?user=lin", None, 400, "user_id"),
        ("GET", "/api/memory/s1/stats?user_id=%20%0a%00", None, 400, "user"),
        ("GET", search, None, 400, "query"),
        ("GET", "/api/memory/s1/search?q=%20", None, 400, "empty"),
        ("GET", "/api/memory/s1/search?q=x&limit=0", None, 400, "from 1 to 100"),
        ("GET", "/api/memory/s1/search?q=x&limit=many", None, 400, "limit"),
        ("GET", "/api/memory/s1/search?q=x&since=soon", None, 400, "no time"),
        ("GET", "/api/memory/s1/search?q=x&why=7", None, 400, "UUID"),
        ("POST", search, Some(json!({ "query": "x", "user_id": "mei" })), 400, "user_id"),
        ("POST", search, Some(json!([1])), 422, "map"),
        ("POST", search, Some(json!({ "query": 7 })), 400, "string"),
        ("POST", search, None, 400, "EOF"),
        ("DELETE", "/api/memory/s1/stats", None, 405, "DELETE"),
        ("GET", "/api/memory/s1/reindex", None, 405, "GET"),
    ] {
        let (actual, answer) = send(&router, method, uri, body).await;
        assert_eq!(actual.as_u16(), status, "{method} {uri}: {answer}");
        let message = answer["detail"].as_str().unwrap();
        assert!(message.contains(expected), "{method} {uri}: {message}");
        assert_eq!(answer["detail"], answer["error"]);
    }
}

#[tokio::test]
async fn key_of_one_user_reaches_no_other_session() {
    let engine = engine(true).await;
    let acme = |user: &str| Scope::tenant_wide("acme").unwrap().with_user(user).unwrap().with_session("s1").unwrap();
    let secret = engine.remember(&acme("mei"), "Mei likes tea").await.unwrap();
    let key = ApiKey::generate();
    let access = Access::tenant("app", "acme").unwrap().only_users(["lin"]).unwrap();
    let guard = Guard::keys(KeyRing::default().with_key(&key, access));
    let router = Server::new(engine.clone(), guard).debugging(Debugging::new(engine.clone())).router();
    let ask = async |method: &str, uri: &str, shown: bool| {
        let mut request = Request::builder().method(method).uri(uri);
        if shown {
            request = request.header("x-api-key", key.reveal());
        }
        let response = router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        let status = response.status().as_u16();
        (status, String::from_utf8(to_bytes(response.into_body(), usize::MAX).await.unwrap().to_vec()).unwrap())
    };
    for (method, path) in [("GET", "stats"), ("POST", "reindex"), ("GET", "search?q=tea")] {
        let own = format!("/api/memory/s1/{path}");
        assert_eq!(ask(method, &own, false).await.0, 401);
        let (status, text) = ask(method, &own, true).await;
        assert!((200..300).contains(&status) && !text.contains("Mei"), "{status} {text}");
        let joint = if path.contains('?') { '&' } else { '?' };
        let (status, text) = ask(method, &format!("{own}{joint}user_id=mei"), true).await;
        assert!(status == 403 && !text.contains("Mei"), "{status} {text}");
    }
    let (_, text) = ask("GET", &format!("/api/memory/s1/search?q=tea&why={secret}"), true).await;
    assert!(text.contains("not_there") && !text.contains("Mei"), "{text}");
}

#[tokio::test]
async fn a_scan_names_rules_and_masks_on_request() {
    use memory_engine::screening::{ScreeningAction, ScreeningPolicy};
    let policy = ScreeningPolicy::uniform(ScreeningAction::Store);
    let engine = MemoryEngine::builder().in_memory().background(false).screening(policy).build().await.unwrap();
    let scope = session("lin", "s1");
    let id = engine.remember(&scope, "The wifi password is tiger-4711.").await.unwrap();
    engine.remember(&session("lin", "s2"), "password: tiger-4711").await.unwrap();
    let router = debug_router(&engine);
    let scan = async |body: Value| send(&router, "POST", "/api/memory/s1/scan-secrets?user_id=lin", Some(body)).await;

    let (status, report) = scan(json!({})).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!((&report["scanned"], &report["found"], &report["redacted"]), (&json!(1), &json!(1), &json!(0)));
    assert_eq!(report["records"][0]["id"], json!(id.to_string()));
    assert_eq!(report["records"][0]["rules"], json!({ "en-password": 1 }));
    assert!(!report.to_string().contains("tiger"), "{report}");
    assert_eq!(scan(json!({ "categories": ["card"] })).await.1["found"], 0);

    assert_eq!(scan(json!({ "redact": true })).await.1["redacted"], 1);
    let record = engine.get(&scope, id).await.unwrap().unwrap();
    assert_eq!(record.text, "The wifi password is [redacted: en-password].");
    for (body, message) in
        [(json!({ "categories": ["cards"] }), "no category"), (json!({ "mask": true }), "unknown field")]
    {
        let (status, error) = scan(body).await;
        assert_eq!(status, StatusCode::BAD_REQUEST);
        assert!(error["error"].as_str().unwrap().contains(message), "{error}");
    }
}
