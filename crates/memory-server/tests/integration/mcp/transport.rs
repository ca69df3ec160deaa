//! Hosts, origins, headers and malformed bodies.

use super::*;

#[tokio::test]
async fn other_hosts_and_origins_are_refused() {
    let engine = engine().await;
    let list = || rpc("tools/list", json!({}));
    let at = async |mcp: McpOptions, headers: &[(&str, &str)]| {
        let mcp = Mcp::new(engine.clone()).with_options(mcp);
        // The server allows any host, so that only the options of MCP can refuse.
        let pages = ["https://app.example", "http://evil.example"];
        let server = Server::new(engine.clone(), open()).allowed_hosts(["*"]).cors_origins(pages).unwrap();
        let router = server.mcp(mcp).router();
        send(&router, request("/mcp", headers, list())).await.0
    };
    let (ok, no) = (StatusCode::OK, StatusCode::FORBIDDEN);
    let usual = McpOptions::default;
    assert_eq!(at(usual(), &[("origin", "http://localhost:5173")]).await, ok);
    for origin in ["http://evil.example", "https://localhost.evil.example", "null", "nonsense"] {
        assert_eq!(at(usual(), &[("origin", origin)]).await, no, "{origin}");
    }
    assert_eq!(at(usual(), &[("host", "evil.example")]).await, no);
    assert_eq!(at(usual().with_allowed_hosts(Vec::<String>::new()), &[("host", "evil.example")]).await, no);
    assert_eq!(at(usual().with_allowed_hosts(["memory.lan"]), &[("host", "memory.lan:8080")]).await, ok);
    assert_eq!(at(usual().with_allowed_hosts(["*"]), &[("host", "anything.example")]).await, ok);
    let app = || usual().with_allowed_origins(["https://app.example:443"]);
    assert_eq!(at(app(), &[("origin", "https://app.example")]).await, ok);
    assert_eq!(at(app(), &[("origin", "http://localhost:5173")]).await, no);
    assert_eq!(at(usual().with_allowed_origins(Vec::<String>::new()), &[("origin", "http://localhost:1")]).await, no);
    assert_eq!(at(usual().with_allowed_origins(["*"]), &[("origin", "http://evil.example")]).await, ok);
}

#[tokio::test]
async fn k13_requests_without_accept_header() {
    let engine = engine().await;
    let router = mcp_router(&engine, open());
    let body = rpc("tools/call", json!({ "name": "search_memory", "arguments": { "query": "测试" } }));
    for accept in [None, Some("*/*"), Some("application/json")] {
        let mut request = request("/mcp", &[], body.clone());
        request.headers_mut().remove("accept");
        if let Some(accept) = accept {
            request.headers_mut().insert("accept", accept.parse().unwrap());
        }
        let (status, answer) = send(&router, request).await;
        assert_eq!((status, &answer["result"]["isError"]), (StatusCode::OK, &json!(false)), "{accept:?}");
    }
    let html = request("/mcp", &[("accept", "text/html")], body);
    assert_eq!(send(&router, html).await.0, StatusCode::NOT_ACCEPTABLE);
}

#[tokio::test]
async fn malformed_requests_are_refused() {
    let engine = engine().await;
    let options = McpOptions::default().with_max_body_bytes(100_000);
    let router = Server::new(engine.clone(), open()).mcp(Mcp::new(engine.clone()).with_options(options)).router();
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    let bodies = [
        String::new(),
        "{".into(),
        "null".into(),
        "[]".into(),
        "\u{feff}{}".into(),
        deep.clone(),
        "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"tools/list\"}".into(),
        "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"tools/list\"}".into(),
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}".into(),
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":[]}".into(),
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\
             \"params\":{{\"name\":\"search_memory\",\"arguments\":{deep}}}}}"
        ),
        rpc("tools/call", json!({ "name": "search_memory", "arguments": [1] })),
        rpc("tools/call", json!({ "name": 3 })),
        "x".repeat(200_000),
    ];
    for body in bodies {
        let shown: String = body.chars().take(60).collect();
        let (status, answer) = send(&router, request("/mcp", &[], body)).await;
        let refused = status.is_client_error() || answer["error"]["code"].is_i64();
        assert!(refused, "{shown}: {status} {answer}");
        assert!(!status.is_server_error(), "{shown}: {status}");
    }
    for (body, code) in
        [("{", -32700), ("{\"jsonrpc\":\"2.0\",\"id\":1", -32700), ("{\"a\":1}", -32600), ("[]", -32600)]
    {
        let (status, answer) = send(&router, request("/mcp", &[], body)).await;
        assert_eq!(
            (status, answer["error"]["code"].as_i64()),
            (StatusCode::BAD_REQUEST, Some(code)),
            "{body}: {answer}"
        );
        assert!(answer["jsonrpc"] == "2.0" && answer.as_object().unwrap().contains_key("id"), "{answer}");
    }
    let unreadable = request("/mcp", &[], Body::from(vec![0xff, 0xfe, b'{']));
    assert!(send(&router, unreadable).await.0.is_client_error());
    let large = request("/mcp", &[], rpc("tools/list", json!({ "x": "x".repeat(200_000) })));
    assert_eq!(send(&router, large).await.0, StatusCode::PAYLOAD_TOO_LARGE);
    let get =
        Request::get("/mcp").header("host", "localhost").header("accept", "text/event-stream").body(Body::empty());
    assert_eq!(send(&router, get.unwrap()).await.0, StatusCode::METHOD_NOT_ALLOWED);
    call(&router, "/mcp", "search_memory", json!({ "query": "still there" })).await;
}

#[tokio::test]
async fn invalid_parameters_differ_from_unknown_methods() {
    let router = mcp_router(&engine().await, open());
    for (method, params, reason) in [
        ("tools/call", json!({}), "`name`"),
        ("tools/call", json!({ "name": "search_memory", "arguments": ["walnuts"] }), "sequence"),
        ("resources/read", json!({}), "`uri`"),
        ("prompts/get", json!({ "name": 5 }), "integer"),
        ("completion/complete", json!({}), "`ref`"),
        ("initialize", json!({}), "`protocolVersion`"),
        ("tools/list", json!({ "cursor": "MTA" }), "cursor"),
        ("resources/list", json!({ "cursor": "MTA" }), "cursor"),
    ] {
        let (_, answer) = send(&router, request("/mcp", &[], rpc(method, params))).await;
        assert_eq!(answer["error"]["code"], -32602, "{method}: {answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(reason), "{method}: {answer}");
    }
    let (_, answer) = send(&router, request("/mcp", &[], rpc("tools/burn", json!({})))).await;
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
}

/// Arbitrary JSON values, many of them almost valid.
fn anything() -> impl Strategy<Value = Value> {
    let almost_valid = [
        "",
        " ",
        "*",
        "user",
        "plot",
        "2026-03-02",
        "0198c0de-0000-7000-8000-000000000000",
        "1.1.x",
        "a\u{0}b",
        "𠮷\u{202e}",
    ];
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-2_i64..120).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(almost_valid.to_vec()).prop_map(Value::from),
        ".{0,40}".prop_map(Value::from),
        prop::collection::vec(any::<u8>(), 0..3).prop_map(Value::from),
    ]
}

const TOOLS: &[&str] =
    &["search_memory", "init_context", "add_memory", "get_memory", "update_memory", "delete_memory", "list_memories"];
const ARGUMENT_NAMES: &[&str] = &[
    "query",
    "top_k",
    "scene",
    "since",
    "until",
    "session_id",
    "user_id",
    "token_budget",
    "text",
    "role",
    "id",
    "kind",
    "limit",
    "cursor",
    "x",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, fork: false, ..ProptestConfig::default() })]

    #[test]
    fn tools_answer_arbitrary_arguments(
        tool in prop::sample::select(TOOLS),
        arguments in prop::collection::btree_map(
            prop::sample::select(ARGUMENT_NAMES),
            anything(),
            0..6,
        ),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let router = mcp_router(&engine().await, open());
            let body = rpc("tools/call", json!({ "name": tool, "arguments": arguments }));
            let (status, answer) = send(&router, request("/mcp", &[], body)).await;
            prop_assert_eq!(status, StatusCode::OK, "{}", &answer);
            prop_assert!(answer["result"]["isError"].is_boolean(), "{answer}");
            prop_assert!(answer["result"]["content"][0]["text"].is_string(), "{answer}");
            Ok(())
        })?;
    }
}
