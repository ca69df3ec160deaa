//! Latencies of the background worker, and leases of jobs that take long.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use memory_engine::{
    Clock, Job, MemoryEngine, Result, Timestamp, Turn,
    embed::{Embedder, Embedding, EmbeddingSpace, HashEmbedder, Purpose},
    store::{MemoryRecordStore, Stores},
    testing::ManualClock,
};
use tokio::time::Instant;

use crate::given::{Backend, lin};

const NOON: Timestamp = Timestamp::from_micros(1_772_000_000_000_000);

#[tokio::test]
async fn job_latencies_and_the_start_of_the_oldest_queued_job_are_reported() {
    for backend in Backend::all() {
        let clock = Arc::new(ManualClock::new(NOON));
        let memory = backend.builder().clock(clock.clone()).background(false).build().await.unwrap();
        assert!(memory.admin().latency_stats().is_empty());
        memory.remember(&lin(), "the violin is in the attic").await.unwrap();
        clock.advance(Duration::from_secs(30));
        memory.remember(&lin(), "小提琴在阁楼上").await.unwrap();
        clock.advance(Duration::from_secs(10));
        let stats = memory.stats(&lin()).await.unwrap();
        assert_eq!(stats.waiting_since[&Job::Embedding], NOON);
        assert_eq!(memory.recall(&lin(), "violin").await.unwrap().hits.len(), 1, "found by its words at once");
        memory.drain(&lin(), |_| ()).await.unwrap();
        let lag = memory.admin().latency_stats()[&Job::Embedding];
        assert_eq!((lag.items, lag.p50.as_secs(), lag.p95.as_secs(), lag.longest.as_secs()), (2, 10, 40, 40));
        assert!(memory.stats(&lin()).await.unwrap().waiting_since.is_empty());

        memory.admin().reindex(&lin()).await.unwrap();
        clock.advance(Duration::from_secs(1));
        memory.drain(&lin(), |_| ()).await.unwrap();
        assert_eq!(
            memory.admin().latency_stats()[&Job::Embedding].p50.as_secs(),
            1,
            "the latency of a requeued job starts at the requeue"
        );
    }
}

/// A clock that follows the clock of the runtime, which is paused and advances automatically.
#[derive(Debug)]
struct RuntimeClock(Instant);

impl Clock for RuntimeClock {
    fn now(&self) -> Timestamp {
        NOON.after(self.0.elapsed())
    }
}

/// The hash embedder with a delay of two minutes for each batch.
#[derive(Debug, Default)]
struct SlowEmbedder(HashEmbedder, AtomicUsize);

#[async_trait]
impl Embedder for SlowEmbedder {
    fn space(&self) -> &EmbeddingSpace {
        self.0.space()
    }
    fn max_batch(&self) -> usize {
        self.0.max_batch()
    }
    fn semantic_weight(&self) -> f64 {
        self.0.semantic_weight()
    }
    fn score_floor(&self) -> f64 {
        self.0.score_floor()
    }
    async fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Embedding>> {
        self.1.fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_secs(120)).await;
        self.0.embed(texts, purpose).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_long_job_is_done_by_one_worker() {
    let clock = Arc::new(RuntimeClock(Instant::now()));
    let embedder = Arc::new(SlowEmbedder::default());
    let records = Arc::new(MemoryRecordStore::with_clock(clock.clone()));
    let stores = Stores { records: records.clone(), jobs: records, ..Stores::in_memory(embedder.space().clone()) };
    let open = || {
        MemoryEngine::builder()
            .stores(stores.clone())
            .embedder(embedder.clone())
            .clock(clock.clone())
            .background(false)
            .build()
    };
    let one = open().await.unwrap();
    let other = open().await.unwrap();
    for n in 0..3 {
        one.remember(&lin(), format!("message {n}").as_str()).await.unwrap();
    }
    let scope = lin();
    let (first, second) = tokio::join!(one.drain(&scope, |_| ()), other.drain(&scope, |_| ()));
    assert_eq!((first.unwrap(), second.unwrap()), (3, 3), "both wait for the job");
    assert_eq!(embedder.1.load(Ordering::SeqCst), 1, "one worker has run the job");
    assert!((120..125).contains(&clock.0.elapsed().as_secs()), "{:?}", clock.0.elapsed());
}

#[tokio::test]
async fn a_message_sent_concurrently_is_stored_once() {
    for backend in Backend::all() {
        let memory = backend.builder().background(false).build().await.unwrap();
        let send = |n: usize| {
            let memory = memory.clone();
            async move { memory.remember(&lin(), Turn::user(format!("text {}", n % 3)).with_message_id("m1")).await }
        };
        let sent = futures::future::join_all((0..12).map(send)).await;
        let first = *sent[0].as_ref().unwrap();
        assert!(sent.iter().all(|id| *id.as_ref().unwrap() == first));
        let stored = memory.scan(&lin(), &memory_engine::ScanQuery::oldest(9)).await.unwrap().records;
        assert_eq!(stored.len(), 1);
        assert!(stored[0].text.starts_with("text "), "{}", stored[0].text);
    }
}
