//! The entries of readers in the audit log: every route, tool and resource is in one of the lists below, so that a new
//! one which lists texts cannot be forgotten.

use std::collections::BTreeSet;

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, StatusCode},
};
use memory_engine::{
    Forget, ForgetText, MemoryEngine, RecordId, Scope, Turn,
    audit::{AuditMode, AuditOptions, AuditQuery},
};
use memory_engine_server::Config;
use serde_json::{Value, json};
use tower::ServiceExt;

/// The routes that list texts without a query, with the path and body of a request. Each request has an entry.
const LISTS: [(&str, &str, &str); 16] = [
    ("GET /memories", "/memories?user_id=lin", ""),
    ("POST /v3/memories/", "/v3/memories/", r#"{"filters":{"user_id":"lin"}}"#),
    ("POST /v2/memories/", "/v2/memories/", r#"{"filters":{"user_id":"lin"}}"#),
    ("GET /v1/memories/", "/v1/memories/?user_id=lin", ""),
    ("POST /v1/memory-tool", "/v1/memory-tool?user_id=lin", r#"{"command":"view","path":"/memories"}"#),
    ("POST /store/items/search", "/store/items/search?user_id=lin", r#"{"limit":10,"query":" "}"#),
    ("GET /api/review", "/api/review?user_id=lin", ""),
    ("GET /api/inspector/addresses", "/api/inspector/addresses?user_id=lin", ""),
    ("GET /api/inspector/timeline", "/api/inspector/timeline?user_id=lin", ""),
    ("GET /api/inspector/companion", "/api/inspector/companion?user_id=lin", ""),
    ("GET /api/inspector/facts", "/api/inspector/facts?user_id=lin", ""),
    ("GET /api/inspector/graph", "/api/inspector/graph?user_id=lin", ""),
    (
        "GET /api/inspector/graph/evidence",
        "/api/inspector/graph/evidence?user_id=lin&entity=00000000000000000000000000000000",
        "",
    ),
    ("GET /api/inspector/undo/records", "/api/inspector/undo/records?user_id=lin&ids={id}", ""),
    ("GET /api/inspector/undo/branches", "/api/inspector/undo/branches?user_id=lin", ""),
    // Its kind of request is in the lists of tools and resources.
    (
        "POST /mcp",
        "/mcp?user_id=lin",
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_memories"}}"#,
    ),
];

/// The routes that have no entry of a reader: writes, which have their own; searches and contexts for a prompt; the
/// look-up of one record; and answers without texts of records.
const OTHERS: &[&str] = &[
    // Writes.
    "POST /memories",
    "DELETE /memories",
    "PUT /memories/{id}",
    "DELETE /memories/{id}",
    "POST /reset",
    "DELETE /entities/{type}/{name}",
    "POST /v3/memories/add/",
    "POST /v1/memories/",
    "DELETE /v1/memories/",
    "PUT /v1/memories/{id}/",
    "DELETE /v1/memories/{id}/",
    "DELETE /v2/entities/{type}/{name}/",
    "DELETE /v1/entities/{type}/{name}/",
    "PUT /v1/batch/",
    "DELETE /v1/batch/",
    "POST /v1/feedback/",
    "POST /api/records/patch",
    "POST /api/records/edit",
    "POST /api/records/retract",
    "POST /api/records/restore",
    "PUT /store/items",
    "DELETE /store/items",
    "POST /api/review/accept",
    "POST /api/review/reject",
    "POST /api/review/edit",
    "POST /api/deletions",
    "POST /api/memory/{session_id}/scan-secrets",
    "POST /api/memory/{session_id}/reindex",
    "POST /configure",
    // Searches, and contexts for a prompt.
    "POST /search",
    "POST /v3/memories/search/",
    "POST /v2/memories/search/",
    "POST /v1/memories/search/",
    "POST /v1/vector_stores/{user}/search",
    "GET /api/memory/{session_id}/search",
    "POST /api/memory/{session_id}/search",
    "GET /api/inspector/search",
    "POST /api/inspector/context",
    "GET /api/records/core",
    "POST /hooks/{agent}",
    "POST /v1/chat/completions",
    "POST /v1/messages",
    "POST /v1/messages/count_tokens",
    "POST /v1/responses",
    "POST /v1/embeddings",
    // One record, or what one request has stored.
    "GET /memories/{id}",
    "GET /memories/{id}/history",
    "GET /v1/memories/{id}/",
    "GET /v1/memories/{id}/history/",
    "GET /v1/event/{id}/",
    "GET /store/items",
    "GET /api/inspector/facts/{id}",
    // The texts are the upstream's.
    "GET /v1/responses/{rest}",
    "POST /v1/responses/{rest}",
    "DELETE /v1/responses/{rest}",
    "GET /v1/models",
    "GET /v1/models/{model}",
    // No texts.
    "GET /health",
    "GET /ready",
    "GET /openapi.json",
    "GET /metrics",
    "GET /api/audit",
    "GET /api/audit/verify",
    "GET /api/records/retractions",
    "GET /entities",
    "GET /configure",
    "GET /v1/ping/",
    "GET /v1/entities/",
    "POST /store/namespaces",
    "GET /api/memory/{session_id}/reindex/{id}",
    "GET /api/memory/{session_id}/stats",
    "GET /api/deletions",
    "GET /api/deletions/standing",
    "POST /api/deletions/verify",
    "GET /api/inspector/users",
    "GET /api/inspector/overview",
    "GET /api/inspector/overview/growth",
    "GET /api/inspector/operations",
    "POST /api/inspector/deletion-preview",
];

/// The tools of MCP that list texts without a query, and the others.
const LIST_TOOLS: [&str; 1] = ["list_memories"];
const OTHER_TOOLS: [&str; 6] =
    ["add_memory", "delete_memory", "get_memory", "init_context", "search_memory", "update_memory"];
/// The resources of MCP. Each is a list.
const RESOURCES: [&str; 3] = ["memory://facts", "memory://profile", "memory://recent"];

struct Logged {
    engine: MemoryEngine,
    router: Router,
    id: RecordId,
}

impl Logged {
    async fn new() -> Self {
        let audit = AuditOptions::new(AuditMode::On);
        let engine = MemoryEngine::builder().in_memory().audit(audit).background(false).build().await.unwrap();
        let id = engine.remember(&Scope::user("lin").unwrap(), Turn::note("钥匙在门垫下面 in Porto")).await.unwrap();
        let text = "user = \"lin\"\n[metrics]\nenabled = false\n[[gateway.upstreams]]\nname = \"near\"\nbase_url = \"http://127.0.0.1:9/v1\"\n";
        let config: Config = toml::from_str(text).unwrap();
        let router = config.server(&engine, |_| None).unwrap().router();
        Self { engine, router, id }
    }

    async fn send(&self, operation: &str, path: &str, body: &str) -> (StatusCode, Value) {
        let method = operation.split(' ').next().unwrap();
        let request = Request::builder().method(method).uri(path.replace("{id}", &self.id.to_string()));
        let request = request.header("host", "localhost").header("content-type", "application/json");
        let request = request.header("accept", "application/json, text/event-stream");
        let request = request.body(Body::from(body.to_owned())).unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let status = response.status();
        let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        (status, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    async fn mcp(&self, method: &str, params: Value) -> Value {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let (status, answer) = self.send("POST /mcp", "/mcp?user_id=lin", &call.to_string()).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        answer["result"].clone()
    }

    /// Returns the number of entries about exports of lin.
    async fn exports(&self) -> usize {
        let query = AuditQuery::newest(1000).with_action("export".parse().unwrap());
        self.engine.audit().read(&Scope::user("lin").unwrap(), &query).await.unwrap().entries.len()
    }
}

fn names(list: &Value, field: &str) -> BTreeSet<String> {
    list.as_array().unwrap().iter().map(|item| item[field].as_str().unwrap().to_owned()).collect()
}

fn owned<'n>(names: impl IntoIterator<Item = &'n &'n str>) -> BTreeSet<String> {
    names.into_iter().map(|name| (*name).to_owned()).collect()
}

#[tokio::test]
async fn every_route_that_lists_texts_has_an_entry() {
    let server = Logged::new().await;
    let (_, document) = server.send("GET", "/openapi.json", "").await;
    let methods = ["get", "post", "put", "patch", "delete"];
    let mut unlisted: BTreeSet<String> = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        let methods = methods.iter().filter(|method| item.get(**method).is_some());
        unlisted.extend(methods.map(|method| format!("{} {path}", method.to_uppercase())));
    }
    for operation in LISTS.iter().map(|(operation, ..)| operation).chain(OTHERS) {
        assert!(unlisted.remove(*operation) || *operation == "GET /metrics", "{operation} is no route");
    }
    unlisted.remove("GET /metrics");
    assert!(unlisted.is_empty(), "does {unlisted:?} list texts without a query? Add it to LISTS or OTHERS");
    for (operation, path, body) in LISTS {
        let before = server.exports().await;
        let (status, answer) = server.send(operation, path, body).await;
        // The owner has no entities: the request for the evidence of one has an entry all the same.
        assert!(status.is_success() || operation.ends_with("evidence"), "{operation}: {status} {answer}");
        assert_eq!(server.exports().await, before + 1, "{operation} has no entry");
    }
}

#[tokio::test]
async fn every_tool_and_resource_that_lists_texts_has_an_entry() {
    let server = Logged::new().await;
    let tools = names(&server.mcp("tools/list", json!({})).await["tools"], "name");
    assert_eq!(tools, owned(LIST_TOOLS.iter().chain(&OTHER_TOOLS)), "does a new tool list texts without a query?");
    let resources = names(&server.mcp("resources/list", json!({})).await["resources"], "uri");
    assert_eq!(resources, owned(&RESOURCES));
    for resource in RESOURCES {
        let before = server.exports().await;
        server.mcp("resources/read", json!({ "uri": resource })).await;
        assert_eq!(server.exports().await, before + 1, "{resource} has no entry");
    }
    let before = server.exports().await;
    server.mcp("tools/call", json!({ "name": "list_memories", "arguments": {} })).await;
    assert_eq!(server.exports().await, before + 1);
}

#[tokio::test]
async fn no_list_and_no_search_shows_the_entry_of_a_text_that_is_kept_out() {
    let server = Logged::new().await;
    let lin = Scope::user("lin").unwrap();
    let target = Forget::Text(ForgetText::new("0471 882 3390").with_keep_out(true));
    let entry = server.engine.forget(&lin, target).await.unwrap().kept_out.unwrap();
    let text = server.engine.get(&lin, entry).await.unwrap().unwrap().text;
    let query = json!({ "query": text, "user_id": "lin", "filters": { "user_id": "lin" } }).to_string();
    let searches = [
        ("POST /search", "/search", query.as_str()),
        ("POST /v3/memories/search/", "/v3/memories/search/", &query),
        ("GET /api/inspector/search", "/api/inspector/search?user_id=lin&q=kept+out", ""),
        ("GET /api/records/core", "/api/records/core?user_id=lin", ""),
    ];
    let mut answers = Vec::new();
    for (operation, path, body) in LISTS.iter().chain(&searches) {
        answers.push(((*operation).to_owned(), server.send(operation, path, body).await.1));
    }
    for resource in RESOURCES {
        answers.push((resource.to_owned(), server.mcp("resources/read", json!({ "uri": resource })).await));
    }
    for (tool, arguments) in [("list_memories", json!({})), ("search_memory", json!({ "query": text }))] {
        answers
            .push((tool.to_owned(), server.mcp("tools/call", json!({ "name": tool, "arguments": arguments })).await));
    }
    for (door, answer) in &answers {
        let answer = answer.to_string();
        assert!(!answer.contains(&entry.to_string()) && !answer.contains("is kept out:"), "{door}: {answer}");
    }
    let with_note = answers.iter().filter(|(_, answer)| answer.to_string().contains("门垫")).count();
    assert!(with_note > 5, "the lists show other records: {with_note} of {}", answers.len());
}

#[tokio::test]
async fn a_search_of_items_has_no_entry() {
    let server = Logged::new().await;
    let (status, answer) =
        server.send("POST", "/store/items/search?user_id=lin", r#"{"limit":10,"query":"钥匙"}"#).await;
    assert_eq!((status, server.exports().await), (StatusCode::OK, 0), "{answer}");
}
