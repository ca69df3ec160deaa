//! The overview and the operations of the inspector.

use std::sync::Arc;

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, StatusCode},
};
use memory_engine::{
    Error, ErrorKind, Kind, MemoryEngine, Result, Scope, Timestamp, Turn,
    embed::{Embedder, Embedding, EmbeddingSpace, Purpose},
};
use memory_engine_server::{ApiKey, Config, KeyConfig};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::support::upstream::{self, ReceivedRequests};

/// An embedder that fails, and quotes the texts in its error.
#[derive(Debug)]
struct QuotingEmbedder(EmbeddingSpace);

#[async_trait::async_trait]
impl Embedder for QuotingEmbedder {
    fn space(&self) -> &EmbeddingSpace {
        &self.0
    }

    fn max_batch(&self) -> usize {
        8
    }

    fn semantic_weight(&self) -> f64 {
        1.0
    }

    fn score_floor(&self) -> f64 {
        0.0
    }

    fn unrelated(&self, _: &str, _: &str) -> f64 {
        0.0
    }

    async fn embed(&self, texts: &[&str], _: Purpose) -> Result<Vec<Embedding>> {
        Err(Error::new(ErrorKind::Unavailable, "embed", format!("the service refused '{}'", texts.concat())))
    }
}

/// A server with a key for everyone, for Lin, and for Lin and Mo.
struct Served {
    router: Router,
    engine: MemoryEngine,
    everyone: ApiKey,
    lin: ApiKey,
    both: ApiKey,
}

impl Served {
    async fn new(settings: &str) -> Self {
        Self::with_engine(MemoryEngine::builder().in_memory().background(false).build().await.unwrap(), settings)
    }

    fn with_engine(engine: MemoryEngine, settings: &str) -> Self {
        let mut config: Config = toml::from_str(settings).unwrap();
        let [everyone, lin, both] = std::array::from_fn(|_| ApiKey::generate());
        let key = |key: &ApiKey, users: &[&str]| KeyConfig {
            name: "a key".to_owned(),
            hash: key.hash(),
            tenant: "default".to_owned(),
            users: users.iter().map(|user| (*user).to_owned()).collect(),
            metrics_only: false,
            operator: false,
        };
        config.keys = vec![key(&everyone, &[]), key(&lin, &["lin"]), key(&both, &["lin", "mo"])];
        let router = config.server(&engine, |_| None).unwrap().router();
        Self { router, engine, everyone, lin, both }
    }

    async fn send(&self, key: &ApiKey, uri: &str, body: Option<Value>) -> (StatusCode, String) {
        let method = if body.is_some() { "POST" } else { "GET" };
        let request = Request::builder().method(method).uri(uri).header("content-type", "application/json");
        let request = request.header("authorization", format!("Bearer {}", key.reveal()));
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        let response = self.router.clone().oneshot(request.body(body).unwrap()).await.unwrap();
        let status = response.status();
        let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        (status, String::from_utf8(bytes.to_vec()).unwrap())
    }

    async fn get(&self, key: &ApiKey, uri: &str) -> Value {
        let (status, body) = self.send(key, uri, None).await;
        assert_eq!(status, StatusCode::OK, "{uri}: {body}");
        serde_json::from_str(&body).unwrap()
    }

    async fn remember(&self, user: &str, text: &str, time: &str) {
        let turn = Turn::user(text).at(time.parse::<Timestamp>().unwrap());
        self.engine.remember(&Scope::user(user).unwrap().with_session("monday").unwrap(), turn).await.unwrap();
    }
}

const WITHOUT_METRICS: &str = "[metrics]\nenabled = false\n";

#[tokio::test]
async fn figures_are_those_of_the_users_of_a_key() {
    let served = Served::new(WITHOUT_METRICS).await;
    served.remember("lin", "我住在上海", "2026-03-01T09:00:00Z").await;
    served.remember("lin", "我对海鲜过敏", "2026-03-03T09:00:00Z").await;
    served.remember("mo", "I live in Porto", "2026-03-02T09:00:00Z").await;
    served.remember("zoe", "I live in Leeds", "2026-03-02T10:00:00Z").await;
    let lin = Scope::user("lin").unwrap();
    served
        .engine
        .remember(&lin, Turn::note("a note").with_kind(Kind::FACT).at(Timestamp::from_micros(0)))
        .await
        .unwrap();

    let overview = "/api/inspector/overview";
    let records = async |key, uri: &str| served.get(key, uri).await["totals"]["records"].clone();
    assert_eq!(records(&served.everyone, overview).await, 5);
    assert_eq!(records(&served.both, overview).await, 4);
    assert_eq!(records(&served.lin, overview).await, 3);
    assert_eq!(records(&served.both, "/api/inspector/overview?user_id=mo").await, 1);
    let own = served.get(&served.lin, overview).await;
    assert_eq!(own["totals"]["kinds"], json!({"fact": 1, "turn": 2}));
    assert_eq!(own["indexes"][1], json!({"index": "embedding", "records": 3, "waiting": 3, "dead_letters": 0}));
    assert_eq!(own["queue"].as_array().unwrap().iter().find(|row| row["job"] == "embedding").unwrap()["waiting"], 3);

    for (uri, status, words) in [
        ("/api/inspector/overview?user_id=zoe", StatusCode::FORBIDDEN, "no access"),
        ("/api/inspector/overview?user_ids=lin", StatusCode::BAD_REQUEST, "expected one of `user_id`, `agent_id`"),
        ("/api/inspector/overview/growth?period=day", StatusCode::BAD_REQUEST, "unknown field `period`"),
        ("/api/inspector/operations?user_id=zoe", StatusCode::FORBIDDEN, "no access"),
    ] {
        let (found, body) = served.send(&served.both, uri, None).await;
        assert!(found == status && body.contains(words), "{uri}: {found} {body}");
    }
}

#[tokio::test]
async fn growth_adds_up_the_users_of_a_key() {
    let served = Served::new(WITHOUT_METRICS).await;
    assert_eq!(served.get(&served.both, "/api/inspector/overview/growth").await["starts"], json!([]));
    served.remember("lin", "我住在上海", "2026-03-01T09:00:00Z").await;
    served.remember("lin", "我对海鲜过敏", "2026-03-03T09:00:00Z").await;
    served.remember("mo", "I live in Porto", "2026-03-03T23:00:00Z").await;
    served.remember("zoe", "I live in Leeds", "2026-03-02T10:00:00Z").await;
    let growth = served.get(&served.both, "/api/inspector/overview/growth").await;
    assert_eq!((&growth["period_days"], growth["starts"].as_array().unwrap().len()), (&json!(1), 3));
    assert_eq!(growth["kinds"], json!({"turn": [1, 0, 2]}));
    let all = served.get(&served.everyone, "/api/inspector/overview/growth").await;
    assert_eq!(all["kinds"], json!({"turn": [1, 1, 2]}));
    served.remember("lin", "今年", "2024-03-03T09:00:00Z").await;
    let weekly = served.get(&served.lin, "/api/inspector/overview/growth").await;
    let counts: Vec<u64> = serde_json::from_value(weekly["kinds"]["turn"].clone()).unwrap();
    assert_eq!((&weekly["period_days"], counts.iter().sum::<u64>(), counts[0]), (&json!(7), 3, 1));
    assert_eq!(weekly["starts"][0], "2024-02-26T00:00:00Z", "a Monday");
}

#[tokio::test]
async fn degraded_recalls_are_listed_without_their_queries() {
    let embedder = Arc::new(QuotingEmbedder(EmbeddingSpace::cosine("quoting", 8)));
    let engine = MemoryEngine::builder().in_memory().embedder(embedder).background(false).build().await.unwrap();
    let served = Served::with_engine(engine, WITHOUT_METRICS);
    served.remember("lin", "我对海鲜过敏", "2026-03-01T09:00:00Z").await;
    for (user, query) in [("lin", "海鲜过敏"), ("mo", "Zanzibar"), ("zoe", "Zanzibar")] {
        let uri = format!("/api/memory/monday/search?user_id={user}");
        let (status, body) = served.send(&served.everyone, &uri, Some(json!({"query": query}))).await;
        assert_eq!(status, StatusCode::OK, "{body}");
    }
    let users = async |key| {
        let (_, body) = served.send(key, "/api/inspector/operations", None).await;
        assert!(!body.contains("海鲜") && !body.contains("Zanzibar"), "{body}");
        let answer: Value = serde_json::from_str(&body).unwrap();
        let recalls = answer["degraded_recalls"].as_array().unwrap().clone();
        assert!(recalls.iter().all(|recall| recall["stages"][0]["reason"].as_str().unwrap().contains("refused '…'")));
        recalls.iter().map(|recall| recall["user_id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(users(&served.everyone).await, ["zoe", "mo", "lin"]);
    assert_eq!(users(&served.both).await, ["mo", "lin"]);
    assert_eq!(users(&served.lin).await, ["lin"]);
    let answer = served.get(&served.everyone, "/api/inspector/operations").await;
    assert_eq!((&answer["metrics"], answer.get("process")), (&json!("off"), None));
    assert_eq!(answer["degraded_recalls"][2]["hits"], 1, "the keyword retriever still finds it");
}

#[tokio::test]
async fn figures_of_the_process_are_hidden_from_one_of_several_tenants() {
    let engine = MemoryEngine::builder().in_memory().background(false).build().await.unwrap();
    let mut config: Config = toml::from_str(WITHOUT_METRICS).unwrap();
    let [acme, globex, operator] = std::array::from_fn(|_| ApiKey::generate());
    let key = |key: &ApiKey, tenant: &str, operator: bool| KeyConfig {
        name: tenant.to_owned(),
        hash: key.hash(),
        tenant: tenant.to_owned(),
        users: Vec::new(),
        metrics_only: false,
        operator,
    };
    config.keys = vec![key(&acme, "acme", false), key(&globex, "globex", false), key(&operator, "acme", true)];
    let router = config.server(&engine, |_| None).unwrap().router();
    let served = Served { router, engine, everyone: operator, lin: acme, both: globex };
    let metrics = async |key| served.get(key, "/api/inspector/operations").await["metrics"].clone();
    assert_eq!(metrics(&served.lin).await, "hidden");
    assert_eq!(metrics(&served.both).await, "hidden");
    assert_eq!(metrics(&served.everyone).await, "off");
}

/// A process has one recorder, so that this is the only test with metrics.
#[tokio::test]
async fn tokens_prompts_and_errors_are_counted() {
    let upstream = crate::support::listen(upstream::router(Arc::new(ReceivedRequests::default()))).await;
    let served = Served::new(&format!(
        "[recall]\ndeadline = 20.0\n[gateway]\ndeadline_ms = 20000\n\
         [[gateway.upstreams]]\nname = \"scripted\"\nbase_url = \"{upstream}/v1\"\n\
         [gateway.prices.scripted]\nprompt = 1e6\ncompletion = 2e6\ncurrency = \"CNY\"\n"
    ))
    .await;
    served.remember("lin", "我对海鲜过敏", "2026-03-01T09:00:00Z").await;
    let chat = |stream: bool, text: &str| json!({"model": "echo", "user": "lin", "stream": stream, "messages": [{"role": "user", "content": text}]});
    for body in [chat(false, "还记得海鲜过敏吗"), chat(false, "ok"), chat(true, "谢谢")] {
        let (status, body) = served.send(&served.everyone, "/v1/chat/completions", Some(body)).await;
        assert_eq!(status, StatusCode::OK, "{body}");
    }
    served.send(&served.everyone, "/api/inspector/overview?user_ids=lin", None).await;
    served.send(&served.everyone, "/api/memory/monday/search?user_id=lin", Some(json!({"query": "海鲜"}))).await;
    served.send(&served.everyone, "/api/memory/empty/search?user_id=lin", Some(json!({"query": "海鲜"}))).await;
    served.send(&served.everyone, "/api/memory/monday/search?user_id=lin", Some(json!({"query": ""}))).await;

    let answer = served.get(&served.everyone, "/api/inspector/operations").await;
    assert_eq!(answer["metrics"], "shown");
    let process = &answer["process"];
    let expected = json!([{
        "upstream": "scripted", "replies": 3, "replies_without_usage": 1, "failed": 0, "prompt_tokens": 2,
        "cached_tokens": 0, "completion_tokens": 2, "cost": 6.0, "currency": "CNY",
    }]);
    assert_eq!(process["upstreams"], expected);
    let prompts: u64 = process["prompts"].as_array().unwrap().iter().map(|row| row["count"].as_u64().unwrap()).sum();
    let injected = process["prompts"].as_array().unwrap().iter().find(|row| row["outcome"] == "injected").unwrap();
    assert_eq!((prompts, &injected["rule"]), (3, &json!("recall")));
    let route = |name: &str| process["routes"].as_array().unwrap().iter().find(|row| row["route"] == name).unwrap();
    let search = route("/api/memory/{session_id}/search");
    assert_eq!(
        (&search["requests"], &search["errors"], &search["latency"]["count"]),
        (&json!(3), &json!({"400": 1}), &json!(3))
    );
    assert_eq!(route("/api/inspector/overview")["errors"], json!({"400": 1}));
    let recall = &process["recall"];
    let count = |name: &str| recall[name].as_u64().unwrap();
    assert!(count("with_hits") >= 1 && count("with_hits") < count("recalls"), "{recall}");
    assert_eq!(recall["failed"], 0, "an empty query is a mistake of the caller");
    assert!(recall["stages"].as_array().unwrap().iter().any(|stage| stage["stage"] == "keyword"));

    let hidden = served.get(&served.both, "/api/inspector/operations").await;
    assert_eq!((&hidden["metrics"], hidden.get("process")), (&json!("hidden"), None));
}

#[tokio::test]
async fn a_price_that_is_not_valid_is_refused() {
    let engine = MemoryEngine::builder().in_memory().background(false).build().await.unwrap();
    let upstream = "[[gateway.upstreams]]\nname = \"near\"\nbase_url = \"http://127.0.0.1:9/v1\"\n";
    for (price, words) in [
        ("[gateway.prices.far]\nprompt = 1.0\ncompletion = 1.0", "gateway.prices.far names no upstream"),
        ("[gateway.prices.near]\nprompt = -1.0\ncompletion = 1.0", "at least 0, per million tokens"),
        ("[gateway.prices.near]\nprompt = 1.0\ncached = nan\ncompletion = 1.0", "at least 0, per million tokens"),
    ] {
        let config: Config = toml::from_str(&format!("{WITHOUT_METRICS}{upstream}{price}\n")).unwrap();
        let error = config.server(&engine, |_| None).unwrap_err();
        assert!(error.kind() == ErrorKind::InvalidInput && error.to_string().contains(words), "{error}");
    }
}

#[tokio::test]
async fn sessions_have_a_title_and_dates() {
    let served = Served::new(WITHOUT_METRICS).await;
    let say = async |session: &str, agent: Option<&str>, text: &str, time: &str| {
        let scope = Scope::user("lin").unwrap().with_session(session).unwrap();
        let scope = agent.map_or(scope.clone(), |agent| scope.with_agent(agent).unwrap());
        served.engine.remember(&scope, Turn::user(text).at(time.parse::<Timestamp>().unwrap())).await.unwrap();
    };
    say("auto-1", None, "/help", "2026-03-01T09:00:00Z").await;
    say("auto-1", None, "\nWhich hedge grows fastest?\nIt is for a playground.", "2026-03-01T09:01:00Z").await;
    say("auto-1", None, "And the cheapest?", "2026-03-05T10:00:00Z").await;
    say("auto-2", Some("kai"), &"想请你帮我规划一下花园里的树篱".repeat(6), "2026-03-02T09:00:00Z").await;
    say("auto-3", None, "/clear", "2026-03-03T09:00:00Z").await;
    let note = Turn::note("a note").at("2026-03-04T09:00:00Z".parse::<Timestamp>().unwrap());
    served.engine.remember(&Scope::user("lin").unwrap(), note).await.unwrap();
    let list = served.get(&served.lin, "/api/inspector/addresses").await;
    let addresses = list["addresses"].as_array().unwrap();
    let of = |session: &str| addresses.iter().find(|address| address["session_id"] == session).unwrap();
    let first = of("auto-1");
    assert_eq!(first["title"], "Which hedge grows fastest?");
    assert_eq!((&first["oldest"], &first["newest"]), (&json!("2026-03-01T09:00:00Z"), &json!("2026-03-05T10:00:00Z")));
    let long = of("auto-2")["title"].as_str().unwrap();
    assert!(long.starts_with("想请你帮我规划") && long.ends_with('…') && long.chars().count() == 60, "{long}");
    assert_eq!(of("auto-3").get("title"), None, "a command is no title");
    assert!(addresses.iter().any(|address| address.get("session_id").is_none() && address.get("title").is_none()));
    // A key of another user sees no title.
    let (status, body) = served.send(&served.lin, "/api/inspector/addresses?user_id=mo", None).await;
    assert!(status == StatusCode::FORBIDDEN && !body.contains("hedge"), "{body}");
}
