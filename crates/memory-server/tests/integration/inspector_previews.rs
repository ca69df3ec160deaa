//! The search and the context preview of the inspector.

use std::sync::Arc;

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, StatusCode},
};
use memory_engine::{MemoryEngine, RecordId, ScanQuery, Scope, Turn};
use memory_engine_server::{ApiKey, Config, KeyConfig};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::support::upstream::{self, ReceivedRequests};

/// A server with the configuration of a chat gateway, and the requests that its upstream received.
struct Inspected {
    router: Router,
    engine: MemoryEngine,
    received: Arc<ReceivedRequests>,
    lin_key: ApiKey,
    key: ApiKey,
}

impl Inspected {
    async fn new() -> Self {
        let engine = MemoryEngine::builder().in_memory().background(false).build().await.unwrap();
        let received = Arc::new(ReceivedRequests::default());
        let upstream = crate::support::listen(upstream::router(Arc::clone(&received))).await;
        // A busy machine has to load the dictionaries first.
        let text = format!(
            "[metrics]\nenabled = false\n[recall]\ndeadline = 20.0\n[hooks]\ndeadline_ms = 20000\n\
             [gateway]\nmax_memories = 2\ndeadline_ms = 20000\n\
             [[gateway.upstreams]]\nname = \"scripted\"\nbase_url = \"{upstream}/v1\"\n"
        );
        let mut config: Config = toml::from_str(&text).unwrap();
        let [key, lin_key] = std::array::from_fn(|_| ApiKey::generate());
        let key_config = |name: &str, key: &ApiKey, users: &[&str]| KeyConfig {
            name: name.to_owned(),
            hash: key.hash(),
            tenant: "default".to_owned(),
            users: users.iter().map(|user| (*user).to_owned()).collect(),
            metrics_only: false,
            operator: false,
        };
        config.keys = vec![key_config("everyone", &key, &[]), key_config("lin's key", &lin_key, &["lin"])];
        let router = config.server(&engine, |_| None).unwrap().router();
        Self { router, engine, received, lin_key, key }
    }

    async fn store(&self, user: &str, session: &str, turn: Turn) -> RecordId {
        let scope = Scope::user(user).unwrap().with_session(session).unwrap();
        self.engine.remember(&scope, turn).await.unwrap()
    }

    async fn send(&self, key: &ApiKey, method: &str, uri: &str, body: Option<Value>) -> (StatusCode, Value) {
        let request = Request::builder().method(method).uri(uri).header("content-type", "application/json");
        let request = request.header("authorization", format!("Bearer {}", key.reveal()));
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        let response = self.router.clone().oneshot(request.body(body).unwrap()).await.unwrap();
        let status = response.status();
        let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        let answer = serde_json::from_slice(&bytes).unwrap_or_else(|_| panic!("{method} {uri}: {bytes:?} is no JSON"));
        (status, answer)
    }

    async fn preview(&self, owner: &str, body: Value) -> Value {
        let uri = format!("/api/inspector/context?{owner}");
        let (status, mut answer) = self.send(&self.key, "POST", &uri, Some(body)).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        // It differs from request to request.
        assert!(answer.as_object_mut().unwrap().remove("took_ms").unwrap().is_number());
        answer
    }

    /// Sends a chat through the gateway, and returns the text that the upstream received after the last message.
    async fn chat(&self, user: &str, session: &str, messages: Value) -> String {
        let question = messages.as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned();
        let body = json!({ "model": "scripted", "user_id": user, "session_id": session, "messages": messages });
        let (status, answer) = self.send(&self.key, "POST", "/v1/chat/completions", Some(body)).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        let sent = self.received.last();
        let last = sent["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap();
        last.strip_prefix(&question).unwrap().trim_start().to_owned()
    }

    async fn record_count(&self) -> usize {
        let everything = Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap();
        self.engine.history().timeline(&everything, &ScanQuery::newest(500)).await.unwrap().records.len()
    }
}

fn ids(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_search_covers_all_sessions_of_a_user_and_no_other_user() {
    let inspected = Inspected::new().await;
    inspected.store("lin", "周一", Turn::user("面试改到周五下午")).await;
    inspected.store("lin", "周二", Turn::user("面试很顺利")).await;
    let other = inspected.store("anna", "s1", Turn::user("我的面试取消了")).await;
    let uri = "/api/inspector/search?user_id=lin&q=%E9%9D%A2%E8%AF%95";
    let (status, answer) = inspected.send(&inspected.key, "GET", uri, None).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    let hits = answer["hits"].as_array().unwrap();
    let mut sessions: Vec<_> = hits.iter().map(|hit| hit["record"]["scope"]["session"].as_str().unwrap()).collect();
    sessions.sort_unstable();
    assert_eq!(sessions, ["周一", "周二"]);
    for hit in hits {
        let ranks = hit["ranks"].as_array().unwrap().iter();
        let steps: Vec<_> = ranks.map(|rank| rank["step"].as_str().unwrap()).collect();
        assert_eq!(steps, ["fused", "ranked", "boosted", "selected"], "{hit}");
        assert_eq!(hit["ranks"][3]["rank"], hit["place"]);
    }
    assert!(answer["took_ms"].is_number() && answer["min_relevance"].is_number(), "{answer}");
    assert!(answer["stages"].as_array().unwrap().iter().any(|stage| stage["stage"] == "retrievers"), "{answer}");

    // A key of one user need not name them, and gets nothing of others: neither hits nor an explanation.
    let uri = format!("/api/inspector/search?q=%E9%9D%A2%E8%AF%95&why={other}");
    let (_, own) = inspected.send(&inspected.lin_key, "GET", &uri, None).await;
    assert_eq!(own["hits"].as_array().unwrap().len(), 2, "{own}");
    assert_eq!(own["why"]["verdict"], "not_there");
    let (status, _) = inspected.send(&inspected.lin_key, "GET", "/api/inspector/search?user_id=anna&q=a", None).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_search_refuses_what_it_does_not_know() {
    let inspected = Inspected::new().await;
    for (query, part) in [
        ("q=tea&user=lin", "unknown field `user`"),
        ("q=tea&user=lin", "the owner is named by user_id"),
        ("q=tea&limit=0", "it must be from 1 to 100"),
        ("q=tea&limit=many", "limit"),
        ("user_id=lin", "query"),
        ("q=tea&why=7", "a UUID"),
        ("q=tea&since=Monday", "Monday"),
    ] {
        let uri = format!("/api/inspector/search?{query}");
        let (status, answer) = inspected.send(&inspected.key, "GET", &uri, None).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{query}: {answer}");
        assert!(answer["detail"].as_str().unwrap().contains(part), "{query}: {answer}");
    }
}

#[tokio::test]
async fn the_preview_of_the_gateway_is_what_the_upstream_gets() {
    let inspected = Inspected::new().await;
    for text in ["My dog is called Biscuit.", "My dog likes the river.", "My dog is afraid of thunder."] {
        inspected.store("lin", "earlier", Turn::user(text).with_scene("daily")).await;
    }
    inspected.store("lin", "earlier", Turn::user("我的狗叫饼干").with_scene("daily")).await;
    for question in ["Do you remember what my dog is called?", "还记得我的狗叫什么吗？"] {
        let earlier = json!([{ "role": "user", "text": "Hello" }, { "role": "assistant", "text": "Hi." }]);
        let before = inspected.record_count().await;
        let request = json!({ "message": question, "earlier": earlier });
        let preview = inspected.preview("user_id=lin&session_id=new", request.clone()).await;
        let again = inspected.preview("user_id=lin&session_id=new", request).await;
        assert_eq!(preview, again, "a preview changes nothing");
        assert_eq!(inspected.record_count().await, before);
        assert_eq!((&preview["decision"]["rule"], &preview["round"]), (&json!("recall"), &json!(2)));
        assert_eq!((&preview["served"], &preview["settings"]["max_memories"]), (&json!(true), &json!(2)));
        assert_eq!(preview["settings"]["placement"], "message");
        let messages = json!([
            { "role": "user", "content": "Hello" }, { "role": "assistant", "content": "Hi." },
            { "role": "user", "content": question },
        ]);
        let block = inspected.chat("lin", "new", messages).await;
        assert!(!block.is_empty());
        assert_eq!(block, preview["text"].as_str().unwrap(), "{preview}");
        let layer = &preview["layers"][0];
        assert_eq!(layer["used"], block.chars().count());
        assert!(layer["included"].as_array().unwrap().len() <= 2, "{preview}");
        let candidates = preview["candidates"].as_array().unwrap();
        assert!(candidates.iter().any(|one| one["outcome"] == "injected" && one["relevance"].is_number()), "{preview}");
        assert_eq!(ids(&preview["records"]), ids(&preview["candidates"]));
    }
}

#[tokio::test]
async fn a_preview_continues_the_stored_turns_of_a_session() {
    let inspected = Inspected::new().await;
    inspected.store("lin", "s1", Turn::user("My dog is called Biscuit.").with_scene("daily")).await;
    inspected.store("lin", "s1", Turn::assistant("What a good name.").with_scene("daily")).await;
    let ask = json!({ "message": "Do you remember what my dog is called?" });
    let continued = inspected.preview("user_id=lin&session_id=s1", ask.clone()).await;
    assert_eq!((&continued["round"], &continued["decision"]["rule"]), (&json!(2), &json!("recall")));
    assert_eq!(continued["text"], "", "the conversation contains the answer");
    let outcomes: Vec<_> =
        continued["candidates"].as_array().unwrap().iter().map(|one| one["outcome"].as_str().unwrap()).collect();
    assert!(outcomes.contains(&"in_conversation"), "{continued}");
    let first = inspected.preview("user_id=lin", ask).await;
    assert_eq!((&first["round"], &first["decision"]["rule"]), (&json!(1), &json!("recall")));
    assert!(first["text"].as_str().unwrap().contains("Biscuit"), "{first}");
}

#[tokio::test]
async fn the_previews_of_hooks_are_what_agents_get() {
    let inspected = Inspected::new().await;
    inspected.store("lin", "s1", Turn::user("My dog is called Biscuit.").with_scene("daily")).await;
    inspected.store("lin", "s1", Turn::note("Prefers answers without emoji")).await;
    let asked = "Do you remember what my dog is called?";
    let preview = inspected.preview("user_id=lin", json!({ "path": "hook", "message": asked })).await;
    let opening = inspected.preview("user_id=lin", json!({ "path": "session_start" })).await;
    let hook = async |event: &str, body: Value| {
        let uri = format!("/hooks/generic?user_id=lin&event={event}");
        let (status, answer) = inspected.send(&inspected.key, "POST", &uri, Some(body)).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        answer["context"].as_str().unwrap().to_owned()
    };
    assert_eq!(opening["text"], hook("session-start", json!({ "session_id": "a1" })).await);
    assert_eq!(preview["text"], hook("user-prompt", json!({ "session_id": "a2", "prompt": asked })).await);
    assert!(preview["text"].as_str().unwrap().contains("Biscuit"), "{preview}");
    assert!(opening["text"].as_str().unwrap().contains("emoji"), "{opening}");
    assert_eq!((&opening["budget"]["unit"], &opening["budget"]["limit"]), (&json!("tokens"), &json!(400)));
    let layers = opening["layers"].as_array().unwrap();
    let tokens = |layer: &Value, name: &str| layer[name].as_u64().unwrap();
    assert!(layers.iter().all(|layer| tokens(layer, "used") <= tokens(layer, "budget") + tokens(layer, "flowed")));
    let facts = layers.iter().find(|layer| layer["name"] == "Known facts").unwrap();
    assert!(tokens(facts, "used") > 0 && facts["included"].as_array().unwrap().len() == 1, "{facts}");
}

#[tokio::test]
async fn the_context_of_the_library_names_what_it_left_out() {
    let inspected = Inspected::new().await;
    for n in 1..=6 {
        let text = format!("My dog Biscuit found ball number {n} in the garden behind the old house by the river.");
        inspected.store("lin", "s1", Turn::user(text)).await;
    }
    let request = json!({ "path": "library", "message": "Which balls did my dog Biscuit find?", "max_tokens": 120 });
    let preview = inspected.preview("user_id=lin", request).await;
    assert_eq!(preview["settings"]["max_tokens"], 120);
    assert!(preview["tokens"].as_u64().unwrap() <= 120, "{preview}");
    let layer = preview["layers"].as_array().unwrap().iter().find(|layer| layer["name"] == "memories").unwrap();
    assert!(!layer["included"].as_array().unwrap().is_empty(), "{layer}");
    assert!(!layer["left_out"].as_array().unwrap().is_empty(), "{layer}");
    let left_out = layer["left_out"][0]["id"].as_str().unwrap();
    let candidate = preview["candidates"].as_array().unwrap().iter().find(|one| one["id"] == left_out).unwrap();
    assert_eq!(candidate["outcome"], "no_room");
}

#[tokio::test]
async fn a_preview_refuses_another_user_and_wrong_requests() {
    let inspected = Inspected::new().await;
    inspected.store("anna", "s1", Turn::user("My dog is called Rex.")).await;
    let ask = json!({ "message": "Do you remember what my dog is called?" });
    for path in ["gateway", "hook", "session_start", "library"] {
        let mut body = ask.clone();
        body["path"] = path.into();
        let uri = "/api/inspector/context?user_id=anna";
        let (status, _) = inspected.send(&inspected.lin_key, "POST", uri, Some(body.clone())).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{path}");
        let (_, own) = inspected.send(&inspected.lin_key, "POST", "/api/inspector/context", Some(body)).await;
        assert_eq!((&own["user_id"], own.to_string().contains("Rex")), (&json!("lin"), false), "{path}: {own}");
    }
    for (body, part) in [
        (json!({ "message": " " }), "message is empty"),
        (json!({ "message": "tea", "max_tokens": 5 }), "path library"),
        (json!({ "message": "tea", "path": "hook", "earlier": [{ "role": "user", "text": "a" }] }), "session_id"),
        (json!({ "message": "tea", "text": "x" }), "unknown field"),
        (json!({ "message": "tea", "path": "mail" }), "unknown variant"),
    ] {
        let (status, answer) = inspected.send(&inspected.key, "POST", "/api/inspector/context", Some(body)).await;
        assert!(status.is_client_error(), "{answer}");
        assert!(answer["detail"].as_str().unwrap().contains(part), "{part}: {answer}");
    }
}
