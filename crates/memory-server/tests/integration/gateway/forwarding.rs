//! Requests and responses that the gateway forwards unchanged, routes or refuses.

use std::{sync::Arc, time::Duration};

use memory_engine::{
    MemoryEngine,
    http_models::{Endpoint, Relay, RelayOptions, RelayRequest, Secret},
};
use memory_engine_server::{Access, Gateway, GatewayOptions, Guard, Server, Upstream};
use serde_json::{Value, json};

use crate::{
    gateway::fixtures::{Chat, request, streamed_request, user},
    support::{
        listen,
        upstream::{self, ReceivedRequests},
    },
};

#[tokio::test]
async fn k12_unknown_fields_are_forwarded_unchanged() {
    let chat = Chat::new().await;
    let image = json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA" } });
    let body = json!({
        "model": "echo", "temperature": 0.7, "min_p": 0.05, "chat_template_kwargs": { "z": 1, "a": null },
        "messages": [
            { "role": "system", "content": "s", "name": "n" },
            { "role": "user", "content": [{ "type": "text", "text": "看图" }, image], "x": true },
        ],
        "user": "lin", "metadata": { "session_id": "monday" }, "stream_options": null,
    });
    let answer = chat.get("v1/chat/completions", &body, &[]).await;
    assert_eq!(chat.served.received.last(), body);
    assert_eq!(chat.served.received.last_bytes(), body.to_string(), "byte by byte");
    assert!(answer.body.ends_with(r#""x_unknown":1.5}"#));
    assert_eq!(chat.texts().await[0], "看图");
}

#[tokio::test]
async fn upstream_errors_are_forwarded_without_a_retry() {
    let chat = Chat::new().await;
    for body in [request("limited", &[user("a")]), streamed_request("limited", &[user("a")])] {
        let answer = chat.ask(&body).await;
        assert_eq!((answer.status.as_u16(), answer.header("retry-after")), (429, "7"));
        assert_eq!((answer.header("x-ratelimit-remaining-requests"), answer.header("x-request-id")), ("0", "req_9"));
        assert_eq!(answer.json()["error"]["code"], "rate_limit_exceeded");
    }
    let html = chat.ask(&request("html", &[user("a")])).await;
    let error = &html.json()["error"];
    assert_eq!((html.status.as_u16(), html.header("content-type")), (502, "application/json"));
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("502") && message.contains("<html>bad</html>"), "{message}");
    assert_eq!(error["type"], "server_error");
    assert_eq!(chat.served.received.requests.lock().len(), 3);
    assert!(chat.turns("monday").await.is_empty());
}

#[tokio::test]
async fn a_reply_that_is_not_json_is_a_bad_gateway() {
    let chat = Chat::new().await;
    let answer = chat.ask(&request("broken", &[user("a")])).await;
    assert_eq!((answer.status.as_u16(), answer.header("content-type")), (502, "application/json"));
    assert!(answer.json()["error"]["message"].as_str().unwrap().contains("not JSON"), "{}", answer.body);
    assert!(chat.turns("monday").await.is_empty());
    let answer = chat.ask(&streamed_request("broken", &[user("说说看")])).await;
    let events: Vec<Value> =
        answer.body.lines().filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok()).collect();
    let lines = answer.body.lines().filter(|line| line.starts_with("data:")).count();
    assert_eq!((lines, events.len()), (2, 2), "every event is JSON: {}", answer.body);
    assert_eq!(events[0]["choices"][0]["delta"]["content"], "我正");
    assert_eq!(events[1]["error"]["type"], "server_error");
    let turns = chat.await_turns(2).await;
    assert_eq!((turns[1].text.as_str(), &turns[1].metadata["partial"]), ("我正", &json!("broken_off")));
}

#[tokio::test]
async fn a_lone_surrogate_is_forwarded_unchanged_and_stored_replaced() {
    let chat = Chat::new().await;
    let body = br#"{"model":"echo","messages":[{"role":"user","content":"half \ud83d of it"}]}"#;
    let headers = [("x-memory-key", chat.served.key.as_str()), ("x-user-id", "lin"), ("x-session-id", "monday")];
    let answer = post_raw(&chat, &headers, body).await;
    assert_eq!(answer, 200);
    assert!(chat.served.received.last_bytes().windows(6).any(|bytes| bytes == br"\ud83d"));
    assert_eq!(chat.texts().await[0], "half \u{fffd} of it");
}

/// Sends a body that a JSON library would not write. Returns the status.
async fn post_raw(chat: &Chat, headers: &[(&'static str, &str)], body: &'static [u8]) -> u16 {
    let mut all = axum::http::HeaderMap::new();
    for (name, value) in headers {
        all.insert(*name, value.parse().unwrap());
    }
    let relay = Relay::new(Endpoint::new(&chat.served.url).unwrap(), RelayOptions::default()).unwrap();
    let request = RelayRequest::new(axum::http::Method::POST, &["v1", "chat", "completions"]);
    let request = request.with_headers(all).with_body(body);
    let mut reply = relay.send(&request, std::time::Duration::from_secs(20)).await.unwrap();
    reply.rest(1 << 20).await.unwrap();
    reply.status().as_u16()
}

#[tokio::test]
async fn errors_have_the_format_of_openai() {
    let chat = Chat::new().await;
    let error = async |path: &str, body: &Value, headers: &[(&'static str, &str)]| {
        let answer = chat.get(path, body, headers).await;
        (answer.status.as_u16(), answer.json()["error"]["message"].as_str().unwrap().to_owned())
    };
    assert_eq!(error("v1/completions", &json!({}), &[]).await.0, 404);
    assert_eq!(error("v1/audio/speech", &Value::Null, &[]).await.0, 404);
    assert_eq!(error("v1/chat/completions", &json!([1]), &[]).await.0, 400);
    let body = request("echo", &[user("a")]);
    let (status, message) = error("v1/chat/completions", &body, &[("x-user-id", "%ff")]).await;
    assert!(status == 400 && message.contains("x-user-id"), "{message}");
    let (status, message) = error("v1/chat/completions", &body, &[("x-session-id", &"s".repeat(300))]).await;
    assert!(status == 400 && message.contains("session"), "{message}");
    assert_eq!(error("v1/chat/completions", &body, &[("x-memory", "maybe")]).await.0, 400);
    let answer = chat.get("v1/chat/completions", &body, &[("x-memory-key", "wrong")]).await;
    assert_eq!((answer.status.as_u16(), answer.json()["error"]["type"].as_str()), (401, Some("authentication_error")));
}

#[tokio::test]
async fn k16_keys_reach_only_their_own_service() {
    let chat = Chat::new().await;
    let body = request("echo", &[user("a")]);
    // The client's key for the upstream is passed on, the key of this server is not.
    let theirs = [("authorization", "Bearer sk-theirs"), ("x-user-id", "lin"), ("x-title", "app")];
    chat.get("v1/chat/completions", &body, &theirs).await;
    let sent = chat.served.received.last_headers();
    assert_eq!((sent["authorization"].as_bytes(), sent["x-title"].as_bytes()), (&b"Bearer sk-theirs"[..], &b"app"[..]));
    assert!(sent.keys().all(|name| !name.as_str().starts_with("x-memory") && name != "x-user-id"), "{sent:?}");
    // The key of this server in `Authorization`, as an OpenAI client sends it.
    let ours = format!("Bearer {}", chat.served.key);
    chat.get("v1/chat/completions", &body, &[("x-memory-key", ""), ("authorization", &ours)]).await;
    chat.get("v1/chat/completions", &body, &[("authorization", &ours)]).await;
    assert!(!format!("{:?}", chat.served.received.last_headers()).contains(&chat.served.key));
    assert!(!chat.served.received.last_headers().contains_key("authorization"));
    chat.get("v1/chat/completions", &body, &[("authorization", "Bearer ")]).await;
    assert!(!chat.served.received.last_headers().contains_key("authorization"));
}

#[tokio::test]
async fn k12_the_model_selects_the_upstream() {
    let one = Arc::new(ReceivedRequests::default());
    let two = Arc::new(ReceivedRequests::default());
    let base_url =
        async |received: &Arc<ReceivedRequests>| format!("{}/v1", listen(upstream::router(received.clone())).await);
    let endpoint = Endpoint::new(&base_url(&one).await).unwrap().with_key(&Secret::new("sk-one")).unwrap();
    let other = Endpoint::new(&base_url(&two).await).unwrap();
    let down = Endpoint::new("http://127.0.0.1:9/v1").unwrap();
    let upstreams = vec![
        Upstream::new("one", endpoint).with_models(["echo", "text-*"]),
        Upstream::new("two", other).with_models(["odd"]),
        Upstream::new("down", down).with_models(["gone"]),
    ];
    let engine = MemoryEngine::builder().in_memory().build().await.unwrap();
    let gateway = Gateway::new(engine.clone(), upstreams, GatewayOptions::default()).unwrap();
    let guard = Guard::open(Access::tenant("all", "acme").unwrap());
    let url = listen(Server::new(engine, guard).gateway(gateway).router()).await;
    let mut chat = Chat::new().await;
    chat.redirect(&url);
    let auth = [("authorization", "Bearer sk-client")];

    chat.get("v1/chat/completions", &request("echo", &[user("a")]), &auth).await;
    assert_eq!(one.last_headers()["authorization"], "Bearer sk-one");
    let prefixed = chat.get("v1/chat/completions", &request("two/echo", &[user("a")]), &auth).await;
    assert_eq!((prefixed.status.as_u16(), two.last()["model"].as_str()), (200, Some("echo")));
    assert_eq!(two.last_headers()["authorization"], "Bearer sk-client");
    let unknown = chat.get("v1/chat/completions", &request("claude", &[user("a")]), &auth).await;
    assert!(unknown.status == 404 && unknown.body.contains("claude"), "{}", unknown.body);
    let down = chat.get("v1/chat/completions", &request("gone", &[user("a")]), &auth).await;
    assert!(down.status == 502 && down.body.contains("'down'") && !down.body.contains("127.0.0.1"), "{}", down.body);

    let models = chat.get("v1/models", &Value::Null, &auth).await;
    let ids: Vec<String> =
        models.json()["data"].as_array().unwrap().iter().map(|m| m["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids, ["echo", "one/odd", "two/echo", "odd"]);
    assert_eq!(models.header("x-memory-upstreams-missing"), "down");
    let vectors = chat
        .get("v1/embeddings", &json!({ "model": "text-3", "input": "a", "encoding_format": "base64" }), &auth)
        .await;
    assert_eq!((vectors.status.as_u16(), one.last()["encoding_format"].as_str()), (200, Some("base64")));
}

#[tokio::test]
async fn an_upstream_without_a_response_times_out() {
    let mut options = GatewayOptions::default();
    options.stream_timeout = Duration::from_millis(200);
    options.plain_timeout = Duration::from_millis(200);
    let chat = Chat::with_options(options).await;
    let answer = chat.ask(&streamed_request("silent", &[user("a")])).await;
    assert_eq!((answer.status.as_u16(), answer.json()["error"]["type"].as_str()), (504, Some("server_error")));
    assert!(chat.turns("monday").await.is_empty());
}
