//! PostgREST and mem0.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed assertion panics")]

mod support;

use memory_engine_core::ErrorKind;
use memory_engine_http_models::{FilterOperator, Mem0Client, Mem0Owner, Mem0Search, PostgrestClient, Secret, Select};
use memory_engine_llm::Message;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use support::{KEY, client, shown};
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{any, method, path},
};

async fn server_with(response: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(any()).respond_with(response).mount(&server).await;
    server
}

fn ok(body: Value) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(body)
}

fn database(server: &MockServer, key: &str) -> PostgrestClient {
    PostgrestClient::supabase(client(), &server.uri(), &Secret::new(key)).unwrap()
}

fn mem0(server: &MockServer) -> Mem0Client {
    Mem0Client::new(client(), &server.uri(), Some(&Secret::new(KEY))).unwrap()
}

#[derive(Debug, PartialEq, Deserialize)]
struct Row {
    id: u32,
    content: String,
}

#[tokio::test]
async fn e6_a_function_is_called_by_its_name_with_named_arguments() {
    let server = server_with(ok(json!([{"id": 1, "content": "虾"}]))).await;
    let arguments = json!({"query_embedding": [0.1], "match_count": 5});
    let rows: Vec<Row> = database(&server, "sb_secret_x").rpc("match_memories", &arguments).await.unwrap();
    assert_eq!(rows, [Row { id: 1, content: "虾".into() }]);
    let request = &server.received_requests().await.unwrap()[0];
    assert_eq!((request.url.path(), request.method.as_str()), ("/rest/v1/rpc/match_memories", "POST"));
    assert_eq!(request.body_json::<Value>().unwrap(), arguments);
    assert_eq!(
        (&request.headers["apikey"], &request.headers["content-profile"]),
        (&"sb_secret_x".parse().unwrap(), &"public".parse().unwrap())
    );
    assert!(!request.headers.contains_key("authorization"), "the newer keys are rejected there");
}

#[tokio::test]
async fn jwt_keys_are_sent_in_both_headers() {
    let server = server_with(ok(json!([]))).await;
    let database = database(&server, "eyJhbGciOi.eyJyb2xlIjo.c2ln").with_schema("memory").unwrap();
    let select = Select::columns(["id", "content"]).filter("session_id", FilterOperator::Eq, "a&b").limit(2);
    assert_eq!(database.select::<Row>("memories", &select).await.unwrap(), []);
    let request = &server.received_requests().await.unwrap()[0];
    assert_eq!(request.url.path(), "/rest/v1/memories");
    assert_eq!(request.url.query(), Some("select=id%2Ccontent&session_id=eq.a%26b&limit=2"));
    assert_eq!(request.headers["authorization"], "Bearer eyJhbGciOi.eyJyb2xlIjo.c2ln");
    assert_eq!(request.headers["accept-profile"], "memory");
}

#[tokio::test]
async fn database_codes_map_to_error_kinds() {
    let cases = [
        (404, "PGRST202", ErrorKind::NotFound),
        (409, "23505", ErrorKind::Conflict),
        (403, "42501", ErrorKind::Unauthorized),
        (500, "57014", ErrorKind::Timeout),
        (504, "PGRST003", ErrorKind::Unavailable),
        (401, "PGRST301", ErrorKind::Unauthorized),
    ];
    for (status, code, kind) in cases {
        let body = json!({"code": code, "message": "my diary", "details": "sb_secret_x", "hint": null});
        let server = server_with(ResponseTemplate::new(status).set_body_json(body)).await;
        let error = database(&server, "sb_secret_x").rpc::<Value>("f", &json!({})).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{code}");
        let shown = shown(&error);
        assert!(shown.contains(code) && !shown.contains("diary") && !shown.contains("sb_secret"), "{shown}");
    }
}

#[tokio::test]
async fn a_function_that_may_have_run_is_not_retried() {
    let server = server_with(ResponseTemplate::new(500)).await;
    database(&server, "x").rpc::<Value>("f", &json!({})).await.unwrap_err();
    assert_eq!(server.received_requests().await.unwrap().len(), 1);
    let server = server_with(ResponseTemplate::new(503)).await;
    database(&server, "x").rpc::<Value>("f", &json!({})).await.unwrap_err();
    assert_eq!(server.received_requests().await.unwrap().len(), 3);
    let error = database(&server, "x").rpc::<Value>("f/../g", &json!({})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

#[tokio::test]
async fn m9_mem0_gets_messages_and_says_what_became_of_them() {
    let server = server_with(ok(json!({"results": [{"id": "1-a", "memory": "对海鲜过敏", "event": "ADD"}]}))).await;
    let owner = Mem0Owner::user("alice").with_run("s1");
    let metadata = Map::from_iter([("scene".to_owned(), json!("life"))]);
    let events = mem0(&server).add(&owner, &[Message::user("我对海鲜过敏")], &metadata, false).await.unwrap();
    assert_eq!(
        (events[0].id.as_str(), events[0].memory.as_str(), events[0].event.as_str()),
        ("1-a", "对海鲜过敏", "ADD")
    );
    let request = &server.received_requests().await.unwrap()[0];
    assert_eq!((request.url.path(), &request.headers["x-api-key"]), ("/memories", &KEY.parse().unwrap()));
    let expected = json!({
        "messages": [{"role": "user", "content": "我对海鲜过敏"}],
        "user_id": "alice", "run_id": "s1", "metadata": {"scene": "life"}, "infer": false
    });
    assert_eq!(request.body_json::<Value>().unwrap(), expected);
}

#[tokio::test]
async fn m9_mem0_searches_only_what_is_the_owners() {
    let row = json!({
        "id": "1", "memory": "x", "hash": "h", "metadata": null, "score": 0.7,
        "created_at": "2026-01-01T00:00:00+00:00", "updated_at": null, "user_id": "alice"
    });
    let server = server_with(ok(json!({"results": [row]}))).await;
    let search = Mem0Search::new("海鲜？").with_limit(3).with_threshold(0.0).with_filter("scene", "life");
    let found = mem0(&server).search(&Mem0Owner::user("alice"), &search).await.unwrap();
    assert_eq!((found[0].score, found[0].user_id.as_deref()), (Some(0.7), Some("alice")));
    let request = &server.received_requests().await.unwrap()[0];
    let filters = json!({"user_id": "alice", "scene": "life"});
    assert_eq!(
        request.body_json::<Value>().unwrap(),
        json!({"query": "海鲜？", "filters": filters, "top_k": 3, "threshold": 0.0})
    );
    let wider = search.with_filter("user_id", "*");
    for (owner, search) in [
        (Mem0Owner::user("alice"), wider),
        (Mem0Owner::default(), Mem0Search::new("x")),
        (Mem0Owner::user(" "), Mem0Search::new("x")),
    ] {
        assert_eq!(mem0(&server).search(&owner, &search).await.unwrap_err().kind(), ErrorKind::InvalidInput);
    }
    assert_eq!(server.received_requests().await.unwrap().len(), 1);
}

#[tokio::test]
async fn missing_memories_are_none() {
    let server = MockServer::start().await;
    Mock::given(method("GET"))
        .and(path("/memories/known"))
        .respond_with(ok(json!({"id": "known", "memory": "x", "score": null})))
        .mount(&server)
        .await;
    Mock::given(method("GET")).and(path("/memories/null")).respond_with(ok(Value::Null)).mount(&server).await;
    Mock::given(method("DELETE"))
        .and(path("/memories/known"))
        .respond_with(ok(json!({"message": "deleted"})))
        .mount(&server)
        .await;
    let mem0 = mem0(&server);
    assert_eq!(mem0.get("known").await.unwrap().unwrap().memory, "x");
    assert!(mem0.get("null").await.unwrap().is_none() && mem0.get("404").await.unwrap().is_none());
    assert!(mem0.delete("known").await.unwrap() && !mem0.delete("404").await.unwrap());
    for bad in ["", "..", "a/b"] {
        assert_eq!(mem0.delete(bad).await.unwrap_err().kind(), ErrorKind::InvalidInput);
    }
}
