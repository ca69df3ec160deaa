//! Behaviour when something behind the server fails.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use async_trait::async_trait;
use memory_engine::{
    EnrichmentOptions, Error, ErrorKind, Job, Kind, MemoryEngine, Page, PutMode, Record, RecordId, Result, ScanQuery,
    Scope, Stats, Timestamp, WriteResult,
    admin::Failure,
    embed::{DefaultEmbedder, Embedder, Embedding, EmbeddingSpace, HashEmbedder, Purpose},
    history::Tombstone,
    http_models::{HttpClient, HttpOptions, Mem0Client, Mem0Owner, Mem0Search, Secret},
    llm::Message,
    store::{JobQueue, RecordStore, Stores},
    testing::ManualClock,
};
use memory_engine_core::{Adjacent, DeletionReport, Done, Pending, RecordGroup, Write};
use memory_engine_server::{Access, ApiKey, Guard, KeyRing, Mem0, Server};
use serde_json::{Map, json};
use tokio::net::TcpListener;

use super::fixtures::{Api, engine, texts};
use crate::support::store::WatchedStore;

/// An embedder that always fails.
#[derive(Debug, Default)]
struct BrokenEmbedder(HashEmbedder);

#[async_trait]
impl Embedder for BrokenEmbedder {
    fn space(&self) -> &EmbeddingSpace {
        self.0.space()
    }
    fn max_batch(&self) -> usize {
        self.0.max_batch()
    }
    fn semantic_weight(&self) -> f64 {
        1.0
    }
    fn score_floor(&self) -> f64 {
        0.0
    }
    async fn embed(&self, _: &[&str], _: Purpose) -> Result<Vec<Embedding>> {
        Err(Error::new(ErrorKind::Unavailable, "embed", "the embedder is out of order"))
    }
}

#[tokio::test]
async fn broken_embedder_leaves_keyword_search() {
    let builder = MemoryEngine::builder().in_memory().embedder(Arc::new(BrokenEmbedder::default()));
    let engine = builder.enrichment(EnrichmentOptions::rules().unwrap()).build().await.unwrap();
    let api = Api::over(Mem0::new(engine.clone()), engine);
    assert_eq!(api.add_message(json!({"user_id": "lin"}), "我对海鲜过敏。").await.len(), 1);
    api.add_note(json!({"user_id": "lin"}), "I like oolong.").await;
    let body = json!({"query": "oolong", "filters": {"user_id": "lin"}});
    assert_eq!(texts(&api.post("/search", body).await), ["I like oolong."]);
}

/// A store that always fails.
#[derive(Debug)]
struct UnavailableStore;

macro_rules! always_unavailable {
    ($contract:ident: $($name:ident($($argument:ty),*) -> $answer:ty;)*) => {
        #[async_trait]
        impl $contract for UnavailableStore {
            $(async fn $name(&self, $(_: $argument),*) -> Result<$answer> {
                Err(Error::new(ErrorKind::Unavailable, stringify!($name), "the database does not answer"))
            })*
        }
    };
}

always_unavailable! {
    RecordStore:
    put(&Scope, Vec<Write>) -> Vec<WriteResult>;
    get(&Scope, &[RecordId]) -> Vec<Option<Record>>;
    delete(&Scope, &[RecordId]) -> DeletionReport;
    scan(&Scope, &ScanQuery) -> Page;
    derived(&Scope, &[RecordId]) -> Vec<RecordId>;
    adjacent(&Scope, &[RecordId]) -> Vec<Adjacent>;
    record_groups(&Scope) -> Vec<RecordGroup>;
    stats(&Scope) -> Stats;
    tombstones(&Scope, Option<RecordId>, usize) -> Vec<Tombstone>;
    import_tombstones(&Scope, &[Tombstone]) -> u64;
    expired(Timestamp, usize) -> Vec<(Scope, RecordId)>;
    remove_tombstones(&Scope, &[RecordId]) -> u64;
}

always_unavailable! {
    JobQueue:
    claim(Job, usize, Duration) -> Vec<Pending>;
    complete(&[Done]) -> Vec<bool>;
    fail(&[Failure]) -> ();
    failures(&Scope, usize) -> Vec<Failure>;
    enqueue(&Scope, &[RecordId], Job) -> u64;
    extend_lease(&[Pending], Duration) -> ();
    requeue(&Scope, Job) -> u64;
}

#[tokio::test]
async fn unavailable_store_is_reported_with_code_and_request_id() {
    let store = Arc::new(UnavailableStore);
    let space = DefaultEmbedder::default().space().clone();
    let stores = Stores { records: store.clone(), jobs: store, ..Stores::in_memory(space) };
    let engine = MemoryEngine::builder().stores(stores).background(false).build().await.unwrap();
    let api = Api::over(Mem0::new(engine.clone()), engine);
    let id = "0198c5a2-7b1e-7c3a-9f00-2f6d1e9b7a10";
    let message = json!([{"role": "user", "content": "I live in Porto."}]);
    for (method, path, body) in [
        ("POST", "/memories".to_owned(), json!({"messages": message, "user_id": "lin"})),
        ("POST", "/memories".to_owned(), json!({"messages": message, "user_id": "lin", "infer": false})),
        ("POST", "/v3/memories/add/".to_owned(), json!({"messages": message, "user_id": "lin"})),
        ("POST", "/v3/memories/".to_owned(), json!({"filters": {"user_id": "lin"}})),
        ("GET", "/memories?user_id=lin".to_owned(), json!({})),
        ("GET", format!("/memories/{id}"), json!({})),
        ("PUT", format!("/memories/{id}"), json!({"text": "x"})),
        ("DELETE", format!("/v1/memories/{id}/"), json!({})),
        ("GET", format!("/memories/{id}/history"), json!({})),
        ("GET", "/entities".to_owned(), json!({})),
        ("POST", "/reset".to_owned(), json!({})),
    ] {
        let answer = api.request(method, &path, Some(body)).await;
        assert_eq!(answer.status, 502, "{method} {path}: {}", answer.body);
        assert_eq!(
            (&answer.body["code"], &answer.body["request_id"]),
            (&json!("datastore_unavailable"), &json!("r-1"))
        );
        assert!(answer.body["detail"].is_string() && answer.body["detail"] == answer.body["error"]);
        assert!(!answer.body.to_string().contains("Porto"));
    }
}

#[tokio::test]
async fn reading_a_late_page_scans_only_that_page() {
    let store = Arc::new(WatchedStore::default());
    let engine = store.engine().await;
    let clock = ManualClock::new(Timestamp::from_micros(0));
    let note = |n: usize| {
        clock.advance(Duration::from_secs(1));
        let lin = Scope::user("lin").unwrap();
        Record::new(lin, Kind::NOTE, format!("note {n}"), &clock)
    };
    let notes: Vec<Record> = (0..600).map(note).collect();
    engine.store(&Scope::user("lin").unwrap(), notes, PutMode::Create).await.unwrap();
    let api = Api::over(Mem0::new(engine.clone()), engine);
    let before = store.scanned.load(Ordering::Relaxed);
    let page = api.post("/v3/memories/?page=100&page_size=5", json!({"filters": {"user_id": "lin"}})).await;
    assert_eq!((texts(&page).first().unwrap().as_str(), &page["count"]), ("note 104", &json!(600)));
    let read = store.scanned.load(Ordering::Relaxed) - before;
    assert!(read <= 6, "{read} records were read for 5");
    // A condition that the store cannot evaluate is checked on all records, and the count is exact too.
    let holds = json!({"filters": {"AND": [{"user_id": "lin"}, {"text": {"contains": "note 10"}}]}});
    let page = api.post("/v3/memories/?page=2&page_size=5", holds).await;
    assert_eq!((texts(&page).len(), &page["count"]), (5, &json!(11)));
}

#[tokio::test]
async fn listing_entities_reads_counts_and_no_records() {
    let store = Arc::new(WatchedStore::default());
    let engine = store.engine().await;
    let api = Api::over(Mem0::new(engine.clone()), engine);
    api.add_note(json!({"user_id": "lin", "agent_id": "kai"}), "one").await;
    api.add_note(json!({"user_id": "mo"}), "two").await;
    let calls = || ["scan", "get", "stats", "record_groups"].map(|name| store.calls(name));
    let before = calls();
    assert_eq!(api.get("/entities").await.as_array().unwrap().len(), 3);
    assert_eq!(api.get("/v1/entities/").await["count"], 3);
    assert_eq!(calls(), [before[0], before[1], before[2], before[3] + 2]);
}

#[tokio::test]
async fn repeated_readiness_checks_are_cached() {
    let store = Arc::new(WatchedStore::default());
    let engine = store.engine().await;
    let api = Api::over(Mem0::new(engine.clone()), engine);
    let stats_before = store.calls("stats");
    let gets_before = store.calls("get");
    for _ in 0..5 {
        assert_eq!(api.get("/ready").await["queue"], "ok");
    }
    assert_eq!(store.calls("stats") - stats_before, 1);
    assert_eq!(store.calls("get") - gets_before, 5);
}

#[tokio::test]
async fn oversized_body_is_refused_with_a_message() {
    let api = Api::open().await;
    let body = json!({"messages": "x".repeat(33 << 20), "user_id": "lin"});
    let answer = api.request("POST", "/v3/memories/add/", Some(body)).await;
    assert_eq!((answer.status, answer.body["detail"].is_string()), (413, true));
}

#[tokio::test]
async fn m9_works_with_mem0_client() {
    let engine = engine().await;
    let key = ApiKey::generate();
    let access = Access::tenant("client", "acme").unwrap();
    let guard = Guard::keys(KeyRing::default().with_key(&key, access));
    let router = Server::new(engine.clone(), guard).mem0(Mem0::new(engine)).router();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let http = HttpClient::new(HttpOptions::default()).unwrap();
    let client = Mem0Client::new(http, &url, Some(&Secret::new(key.reveal()))).unwrap();

    let owner = Mem0Owner::user("lin").with_agent("kai").with_run("monday");
    let metadata = Map::from_iter([("chatfile".to_owned(), json!("a.jsonl"))]);
    let added = client.add(&owner, &[Message::user("我海鲜过敏。")], &metadata, true).await.unwrap();
    assert_eq!((added[0].event.as_str(), added[0].memory.as_str()), ("ADD", "用户对海鲜过敏。"));
    let stored = client.add(&owner, &[Message::user("I like oolong.")], &Map::new(), false).await.unwrap();
    let found =
        client.search(&owner, &Mem0Search::new("海鲜").with_limit(5).with_filter("chatfile", "a.jsonl")).await.unwrap();
    assert_eq!(found.len(), 1);
    assert!(found[0].score.unwrap() > 0.1 && found[0].user_id.as_deref() == Some("lin"));
    assert_eq!(found[0].metadata.as_ref().unwrap()["chatfile"], "a.jsonl");
    let memory = client.get(&stored[0].id).await.unwrap().unwrap();
    assert_eq!((memory.memory.as_str(), memory.role.as_deref()), ("I like oolong.", Some("user")));
    assert!(client.delete(&stored[0].id).await.unwrap());
    assert!(!client.delete(&stored[0].id).await.unwrap());
    assert!(client.get(&stored[0].id).await.unwrap().is_none());
}
