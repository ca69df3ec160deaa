//! The audit log: the actor of each protocol, and reading the log over HTTP.

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, StatusCode},
};
use memory_engine::{
    MemoryEngine, Scope,
    audit::{AuditMode, AuditOptions},
    http_models::Endpoint,
};
use memory_engine_server::{
    Access, ApiKey, Auditing, Gateway, GatewayOptions, Guard, Hooks, KeyRing, Mcp, Mem0, Server, Tools, Upstream,
};
use serde_json::{Value, json};
use tower::ServiceExt;

/// A server with a key for all users and one for the user lin.
struct Audited {
    engine: MemoryEngine,
    router: Router,
    admin: ApiKey,
    lin: ApiKey,
}

impl Audited {
    async fn new() -> Self {
        let audit = AuditOptions::new(AuditMode::On);
        let engine = MemoryEngine::builder().in_memory().audit(audit).background(false).build().await.unwrap();
        let (admin, lin) = (ApiKey::generate(), ApiKey::generate());
        let tenant = |name: &str| Access::tenant(name, "default").unwrap();
        let ring = KeyRing::default()
            .with_key(&admin, tenant("admin"))
            .with_key(&lin, tenant("laptop").only_users(["lin"]).unwrap());
        let upstream = crate::support::listen(crate::support::upstream::router(Default::default())).await;
        let upstream = Upstream::new("scripted", Endpoint::new(&format!("{upstream}/v1")).unwrap());
        let gateway = Gateway::new(engine.clone(), vec![upstream], GatewayOptions::default()).unwrap();
        let router = Server::new(engine.clone(), Guard::keys(ring))
            .auditing(Auditing::new(engine.clone()))
            .mem0(Mem0::new(engine.clone()))
            .mcp(Mcp::new(engine.clone()))
            .hooks(Hooks::new(engine.clone()))
            .tools(Tools::new(engine.clone()))
            .gateway(gateway)
            .router();
        Self { engine, router, admin, lin }
    }

    async fn send(&self, key: &ApiKey, method: &str, uri: &str, body: Option<Value>) -> (StatusCode, Value) {
        let request = Request::builder()
            .method(method)
            .uri(uri)
            .header("host", "localhost:8080")
            .header("x-memory-key", key.reveal())
            .header("user-agent", "tests/1.0")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        let response = self.router.clone().oneshot(request.body(body).unwrap()).await.unwrap();
        let status = response.status();
        let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }

    async fn post(&self, uri: &str, body: Value) {
        let (status, answer) = self.send(&self.lin, "POST", uri, Some(body)).await;
        assert!(status.is_success(), "{uri}: {status} {answer}");
    }

    async fn entries(&self, key: &ApiKey, query: &str) -> Vec<Value> {
        let (status, page) = self.send(key, "GET", &format!("/api/audit{query}"), None).await;
        assert_eq!(status, StatusCode::OK, "{page}");
        page["entries"].as_array().unwrap().clone()
    }
}

fn actions(entries: &[Value]) -> Vec<(&str, &str)> {
    entries.iter().map(|entry| (entry["key"].as_str().unwrap(), entry["action"].as_str().unwrap())).collect()
}

#[tokio::test]
async fn every_protocol_logs_the_key_and_the_program() {
    let server = Audited::new().await;
    let mut seen = 0;
    let mut check = async |protocol: &str| {
        let entries = server.entries(&server.admin, "?oldest_first=true&limit=1000").await;
        let new = &entries[seen..];
        assert!(
            new.iter().any(|entry| entry["action"] == "write" || entry["action"] == "derive"),
            "{protocol}: {new:?}"
        );
        for entry in new {
            assert_eq!(
                (&entry["key"], &entry["agent"]),
                (&json!("laptop"), &json!("tests/1.0")),
                "{protocol}: {entry}"
            );
        }
        seen = entries.len();
    };
    let message = |text: &str| json!([{ "role": "user", "content": text }]);
    server.post("/v1/memories/", json!({ "messages": message("one"), "user_id": "lin", "infer": false })).await;
    check("mem0").await;
    server.post("/v1/memories/", json!({ "messages": message("I live in Porto."), "user_id": "lin" })).await;
    check("mem0 with facts").await;
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "add_memory", "arguments": { "text": "two" } },
    });
    server.post("/mcp", call).await;
    check("MCP").await;
    let chat = json!({ "model": "scripted", "messages": message("three") });
    server.post("/v1/chat/completions", chat).await;
    check("the gateway").await;
    assert!(server.engine.stats(&Scope::user("lin").unwrap()).await.unwrap().records >= 4);
}

#[tokio::test]
async fn a_key_for_a_user_sees_only_the_entries_of_that_user() {
    let server = Audited::new().await;
    for user in ["lin", "mo"] {
        let body = json!({ "messages": [{ "role": "user", "content": "hello" }], "user_id": user, "infer": false });
        assert!(server.send(&server.admin, "POST", "/v1/memories/", Some(body)).await.0.is_success());
    }
    assert_eq!(actions(&server.entries(&server.admin, "").await), [("admin", "write"), ("admin", "write")]);
    let own = server.entries(&server.lin, "").await;
    assert_eq!(actions(&own), [("admin", "write")]);
    assert_eq!(own[0]["scope"]["user"], "lin");
    // The numbers and hashes of the chain would tell how much others write.
    let fields = ["sequence", "previous", "hash", "entry"];
    assert!(fields.iter().all(|field| own[0].get(field).is_none()), "{own:?}");
    assert_eq!(server.entries(&server.admin, "").await[0]["hash"].as_str().unwrap().len(), 64);
    let (status, _) = server.send(&server.lin, "GET", "/api/audit?user_id=mo", None).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    let (status, answer) = server.send(&server.lin, "GET", "/api/audit?user=mo", None).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
    let (status, answer) = server.send(&server.admin, "GET", "/api/audit?action=stole", None).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");

    let (status, _) = server.send(&server.lin, "GET", "/api/audit/verify", None).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    let (status, report) = server.send(&server.admin, "GET", "/api/audit/verify", None).await;
    assert_eq!((status, &report["intact"], &report["entries"]), (StatusCode::OK, &json!(true), &json!(2)));
    let head = report["head"].as_str().unwrap();
    let other = format!("/api/audit/verify?expect=3{}", &head[1..]);
    let (_, report) = server.send(&server.admin, "GET", &other, None).await;
    assert_eq!(report["intact"], false, "{report}");
}

#[tokio::test]
async fn entries_are_filtered_and_lists_count_as_exports() {
    let server = Audited::new().await;
    let body = json!({ "messages": [{ "role": "user", "content": "hello" }], "user_id": "lin", "infer": false });
    server.post("/v1/memories/", body).await;
    assert_eq!(server.send(&server.lin, "GET", "/v1/memories/?user_id=lin", None).await.0, StatusCode::OK);
    let exports = server.entries(&server.admin, "?action=export,delete").await;
    assert_eq!(actions(&exports), [("laptop", "export")]);
    assert_eq!(exports[0]["operation"], "mem0.list");
    assert_eq!(server.entries(&server.admin, "?key=admin").await.len(), 0);
    assert_eq!(server.entries(&server.admin, "?program=tests/1.0&limit=1").await.len(), 1);
    let record = server.entries(&server.admin, "?action=write").await[0]["records"][0].as_str().unwrap().to_owned();
    assert_eq!(server.entries(&server.admin, &format!("?record={record}")).await.len(), 1);
}

#[tokio::test]
async fn a_key_for_a_user_pages_through_its_own_entries() {
    let server = Audited::new().await;
    for n in 0..7 {
        let user = if n % 3 == 0 { "mo" } else { "lin" };
        let message = json!([{ "role": "user", "content": format!("note {n}") }]);
        let body = json!({ "messages": message, "user_id": user, "infer": false });
        assert!(server.send(&server.admin, "POST", "/v1/memories/", Some(body)).await.0.is_success());
    }
    let expected = server.entries(&server.lin, "?oldest_first=true").await;
    assert_eq!(expected.len(), 4);
    let (mut found, mut after) = (Vec::new(), Some(0));
    let mut positions = Vec::new();
    while let Some(position) = after {
        let uri = format!("/api/audit?oldest_first=true&limit=2&after={position}");
        let (_, page) = server.send(&server.lin, "GET", &uri, None).await;
        found.extend(page["entries"].as_array().unwrap().clone());
        after = page["next"].as_u64();
        positions.extend(after);
    }
    assert_eq!((found, positions), (expected, vec![2]));
    let (status, answer) = server.send(&server.lin, "GET", "/api/audit?after=18446744073709551615", None).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
}
