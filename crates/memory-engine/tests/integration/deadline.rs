//! A recall without a result because of its deadline is an error, on every path.

use std::{sync::Arc, time::Duration};

use memory_engine::{
    Error, ErrorKind, Injector, MemoryEngine, RecallQuery, RecordId, Scope,
    context::IncomingMessage,
    embed::{Embedder, HashEmbedder},
    graph::RuleExtractor,
    history::Fork,
    recall::{Enhancement, QueryForm, Retrievers},
    store::{MemoryKeywordStore, MemoryRecordStore, Stores},
};
use tokio::time::Instant;

use crate::given::{
    FlakyEmbedder, lin,
    slow::{Delay, SlowStore},
};

const FOREVER: Duration = Duration::from_secs(3600);

/// An engine whose parts can be delayed separately.
struct Slow {
    memory: MemoryEngine,
    embedder: Arc<FlakyEmbedder>,
    keywords: Delay,
    records: Delay,
    key: RecordId,
}

async fn slow() -> Slow {
    let embedder = Arc::new(FlakyEmbedder::default());
    let keywords = Delay::default();
    let records = Delay::default();
    let store = Arc::new(SlowStore { inner: MemoryRecordStore::new(), delay: records.clone() });
    let stores = Stores {
        records: store.clone(),
        jobs: store,
        keywords: Arc::new(SlowStore { inner: MemoryKeywordStore::new(), delay: keywords.clone() }),
        ..Stores::in_memory(HashEmbedder::default().space().clone())
    };
    let memory = MemoryEngine::builder()
        .stores(stores)
        .embedder(embedder.clone())
        .graph(Arc::new(RuleExtractor::default()))
        .background(false)
        .build()
        .await
        .unwrap();
    let key = memory.remember(&lin(), "the spare key hangs in the barn").await.unwrap();
    memory.drain(&lin(), |_| ()).await.unwrap();
    Slow { memory, embedder, keywords, records, key }
}

fn is_deadline_error(error: &Error) -> bool {
    error.kind() == ErrorKind::Timeout && error.message().contains("warm_up") && error.message().contains("ms")
}

#[tokio::test(start_paused = true)]
async fn k7_a_recall_without_an_answer_in_time_is_an_error() {
    let slow = slow().await;
    slow.keywords.set(FOREVER);
    let blocked = slow.embedder.block_calls();
    let started = Instant::now();
    let error = slow.memory.recall(&lin(), "where is the spare key?").await.unwrap_err();
    assert!(is_deadline_error(&error), "{error}");
    assert!(error.message().contains("1800 ms") && error.message().contains("3000 ms"), "{error}");
    assert!(started.elapsed() <= Duration::from_secs(3));
    let only = |retrievers| RecallQuery::new("where is the spare key?").with_retrievers(retrievers);
    for retrievers in [Retrievers::KeywordOnly, Retrievers::VectorOnly] {
        let error = slow.memory.recall(&lin(), only(retrievers)).await.unwrap_err();
        assert!(is_deadline_error(&error), "{error}");
    }
    let error = slow.memory.admin().explain(&lin(), "where is the spare key?", slow.key).await.unwrap_err();
    assert!(is_deadline_error(&error), "{error}");
    let enhancement = Enhancement::new([("user", "I lost my key")]);
    let error = slow.memory.recall_enhanced(&lin(), "and the spare one?", &enhancement).await.unwrap_err();
    assert!(is_deadline_error(&error), "{error}");
    let error = slow.memory.context(&lin(), "where is the spare key?").await.unwrap_err();
    assert!(is_deadline_error(&error), "{error}");
    drop(blocked);
    slow.keywords.set(Duration::ZERO);
    assert_eq!(slow.memory.recall(&lin(), "where is the spare key?").await.unwrap().hits.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_late_retriever_with_failed_others_is_a_timeout() {
    let slow = slow().await;
    slow.keywords.set(FOREVER);
    slow.embedder.fail(true);
    let error = slow.memory.recall(&lin(), "where is the spare key?").await.unwrap_err();
    assert!(is_deadline_error(&error), "{error}");
}

#[tokio::test(start_paused = true)]
async fn one_retriever_that_answers_is_enough_even_without_hits() {
    let slow = slow().await;
    slow.keywords.set(FOREVER);
    let found = slow.memory.recall(&lin(), "where is the spare key?").await.unwrap();
    assert_eq!((found.hits.len(), found.degraded[0].stage), (1, "keyword"));
    slow.keywords.set(Duration::ZERO);
    let _blocked = slow.embedder.block_calls();
    let found = slow.memory.recall(&lin(), "量子纠缠").await.unwrap();
    assert_eq!((found.hits.len(), found.degraded[0].stage), (0, "vector"));
}

#[tokio::test(start_paused = true)]
async fn a_missing_vector_is_no_answer_if_keywords_are_late() {
    let slow = slow().await;
    // Its vector would be computed in the background, which is off.
    let mo = Scope::user("mo").unwrap();
    slow.memory.remember(&mo, "the ladder leans against the apple tree").await.unwrap();
    assert_eq!(slow.memory.recall(&mo, "where is the ladder?").await.unwrap().hits.len(), 1);
    slow.keywords.set(FOREVER);
    let error = slow.memory.recall(&mo, "where is the ladder?").await.unwrap_err();
    assert!(is_deadline_error(&error), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_retriever_without_query_terms_is_no_answer() {
    let slow = slow().await;
    let _blocked = slow.embedder.block_calls();
    // Stop words alone are no keyword query, and the query has no entity of the graph.
    let error = slow.memory.recall(&lin(), "is it the?").await.unwrap_err();
    assert!(is_deadline_error(&error), "{error}");
    let only = RecallQuery::new("is it the?").with_retrievers(Retrievers::KeywordOnly);
    assert!(slow.memory.recall(&lin(), only).await.unwrap().hits.is_empty());
}

#[tokio::test(start_paused = true)]
async fn records_that_cannot_be_read_in_time_are_an_error() {
    let slow = slow().await;
    slow.records.set(FOREVER);
    let started = Instant::now();
    let error = slow.memory.recall(&lin(), "where is the spare key?").await.unwrap_err();
    assert!(is_deadline_error(&error), "{error}");
    assert!(started.elapsed() <= Duration::from_secs(3));
    let error = slow.memory.admin().explain(&lin(), "where is the spare key?", slow.key).await.unwrap_err();
    assert!(is_deadline_error(&error), "{error}");
    assert!(slow.memory.recall(&lin(), "量子纠缠").await.unwrap().hits.is_empty(), "there is nothing to read");
}

#[tokio::test(start_paused = true)]
async fn a_branch_whose_parents_cannot_be_read_in_time_is_an_error() {
    let slow = slow().await;
    let branch = |name: &str| Scope::user("lin").unwrap().with_session("s").unwrap().with_branch(name).unwrap();
    slow.memory.history().fork(&branch("mercy"), Fork::at(1).from_branch("main")).await.unwrap();
    slow.records.set(FOREVER);
    let error = slow.memory.recall(&branch("mercy"), "where is the spare key?").await.unwrap_err();
    assert!(is_deadline_error(&error), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_late_second_query_form_is_reported_and_the_first_result_stays() {
    let slow = slow().await;
    let enhancement = Enhancement::new([("user", "the weather is fine")]);
    let _blocked = slow.embedder.block_calls();
    let enhanced = slow.memory.recall_enhanced(&lin(), "量子纠缠", &enhancement).await.unwrap();
    assert_eq!(enhanced.form, QueryForm::Question);
    assert!(enhanced.recall.is_partial());
}

#[tokio::test(start_paused = true)]
async fn an_injection_without_memories_reports_the_timeout() {
    let slow = slow().await;
    slow.keywords.set(FOREVER);
    let _blocked = slow.embedder.block_calls();
    let injector = Injector::new(slow.memory.clone());
    let asked = IncomingMessage { round: 5, scene: "daily", text: "还记得我的钥匙吗" };
    let injection = injector.inject(&lin(), &asked).await;
    assert_eq!(injection.text, "");
    assert!(!injection.degraded.is_empty());
    assert!(injection.degraded.iter().any(|part| part.reason.contains("ms")), "{:?}", injection.degraded);
}
