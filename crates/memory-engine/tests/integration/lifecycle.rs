//! Runtimes, warming up and closing.

#![allow(clippy::disallowed_methods, reason = "outside of a runtime, waiting blocks the thread")]

use std::{
    future::Future,
    sync::Arc,
    time::{Duration, Instant},
};

use memory_engine::{
    EnrichmentOptions, Error, ErrorKind, Forget, Injector, Kind, MemoryEngine, PutMode, RecallQuery, Record, RecordId,
    ScanQuery, Turn, context::IncomingMessage, embed::Embedder, recall::Enhancement, store::Stores,
};
use tokio::runtime::{Builder as RuntimeBuilder, Runtime};

use crate::given::{Backend, BrokenReranker, FlakyEmbedder, lin};

/// Maximum time that a test waits, shorter than a lease: a claim that is not released ends after 30 s.
const TIME_LIMIT: Duration = Duration::from_secs(20);

fn current_thread() -> Runtime {
    RuntimeBuilder::new_current_thread().enable_all().build().unwrap()
}

fn multi_thread() -> Runtime {
    RuntimeBuilder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Waits until the background worker has run all jobs.
async fn wait_for_background(memory: &MemoryEngine) {
    let started = Instant::now();
    while memory.stats(&lin()).await.unwrap().queued.values().any(|waiting| *waiting > 0) {
        assert!(started.elapsed() < TIME_LIMIT, "the background worker does nothing");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Polls a future outside of any runtime.
fn poll_outside_runtime<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let started = Instant::now();
    loop {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        if let std::task::Poll::Ready(done) = future.as_mut().poll(&mut context) {
            return done;
        }
        assert!(started.elapsed() < TIME_LIMIT, "it waits for a runtime");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn kind<T: std::fmt::Debug>(outcome: Result<T, Error>) -> ErrorKind {
    outcome.unwrap_err().kind()
}

/// Returns the kind of error of every verb that reads or writes.
async fn error_kinds(memory: &MemoryEngine, id: RecordId) -> Vec<(&'static str, ErrorKind)> {
    let lin = lin();
    let note = Record::new(lin.clone(), Kind::NOTE, "walnuts", memory.settings().clock());
    let enhancement = Enhancement::new([("user", "hello")]);
    vec![
        ("remember", kind(memory.remember(&lin, "I live in Porto.").await)),
        ("remember_all", kind(memory.remember_all(&lin, ["I live in Porto."]).await)),
        ("store", kind(memory.store(&lin, vec![note], PutMode::Upsert).await)),
        ("update", kind(memory.update(&lin, id, "I live in Lisbon.").await)),
        ("recall", kind(memory.recall(&lin, "Porto").await)),
        ("recall_enhanced", kind(memory.recall_enhanced(&lin, "Porto", &enhancement).await)),
        ("explain", kind(memory.admin().explain(&lin, "Porto", id).await)),
        ("context", kind(memory.context(&lin, "Porto").await.map(|context| context.text))),
        ("get", kind(memory.get(&lin, id).await)),
        ("scan", kind(memory.scan(&lin, &ScanQuery::oldest(9)).await)),
        ("facts", kind(memory.facts(&lin).await)),
        ("stats", kind(memory.stats(&lin).await)),
        ("forget", kind(memory.forget(&lin, Forget::Ids(vec![id])).await)),
        ("reindex", kind(memory.admin().reindex(&lin).await)),
        ("drain", kind(memory.drain(&lin, |_| ()).await)),
        ("warm_up", kind(memory.admin().warm_up().await)),
    ]
}

#[test]
fn an_engine_that_outlives_its_runtime_can_be_dropped() {
    for backend in Backend::all() {
        let runtime = multi_thread();
        let memory = runtime.block_on(async {
            let memory = backend.builder().build().await.unwrap();
            memory.remember(&lin(), "the spare key hangs in the barn").await.unwrap();
            memory
        });
        drop(runtime);
        drop(memory);
    }
}

#[test]
fn building_an_engine_requires_a_runtime_with_timers() {
    let error = poll_outside_runtime(MemoryEngine::builder().in_memory().build()).unwrap_err();
    assert!(error.kind() == ErrorKind::Unsupported && error.message().contains("tokio runtime"), "{error}");
    let runtime = RuntimeBuilder::new_current_thread().build().unwrap();
    let error = runtime.block_on(MemoryEngine::builder().in_memory().build()).unwrap_err();
    assert!(error.kind() == ErrorKind::Unsupported && error.message().contains("enable_all"), "{error}");
}

#[test]
fn every_verb_outside_of_a_runtime_is_an_error() {
    for backend in Backend::all() {
        let runtime = current_thread();
        let (memory, id) = runtime.block_on(async {
            let memory = backend.builder().enrichment(EnrichmentOptions::rules().unwrap()).build().await.unwrap();
            let id = memory.remember(&lin(), "the spare key hangs in the barn").await.unwrap();
            (memory, id)
        });
        for (verb, kind) in poll_outside_runtime(error_kinds(&memory, id)) {
            assert_eq!(kind, ErrorKind::Unsupported, "{verb}");
        }
        assert_eq!(kind(poll_outside_runtime(memory.close())), ErrorKind::Unsupported);
        let message = poll_outside_runtime(memory.remember(&lin(), "hello")).unwrap_err().message().to_owned();
        assert!(message.contains("tokio runtime") && message.contains("blocking"), "{message}");
        let asked = IncomingMessage { round: 5, scene: "daily", text: "还记得我的钥匙吗" };
        let injection = poll_outside_runtime(Injector::new(memory.clone()).inject(&lin(), &asked));
        assert!(injection.degraded[0].reason.contains("tokio runtime"), "{:?}", injection.degraded);
        assert!(runtime.block_on(memory.get(&lin(), id)).unwrap().is_some(), "within a runtime it works again");
    }
}

#[test]
fn the_background_works_on_a_runtime_of_one_thread() {
    for backend in Backend::all() {
        current_thread().block_on(async {
            let memory = backend.builder().build().await.unwrap();
            for n in 0..20 {
                memory.remember(&lin(), format!("lantern number {n}")).await.unwrap();
            }
            wait_for_background(&memory).await;
        });
    }
}

#[test]
fn the_background_worker_continues_in_the_next_runtime() {
    for backend in Backend::all() {
        let memory = multi_thread().block_on(async { backend.builder().build().await.unwrap() });
        for _ in 0..2 {
            current_thread().block_on(async {
                memory.remember(&lin(), "the spare key hangs in the barn").await.unwrap();
                wait_for_background(&memory).await;
                assert_eq!(memory.recall(&lin(), "spare key").await.unwrap().hits[0].found_by.len(), 2);
            });
        }
    }
}

/// Returns an engine whose runtime was dropped while the background worker was running a batch.
fn engine_of_dropped_runtime(backend: &Backend) -> (MemoryEngine, Arc<FlakyEmbedder>) {
    let embedder = Arc::new(FlakyEmbedder::default());
    let blocked = embedder.block_calls();
    let runtime = multi_thread();
    let memory = runtime.block_on(async {
        let memory = backend.builder().embedder(embedder.clone()).build().await.unwrap();
        memory.remember(&lin(), "the spare key hangs in the barn").await.unwrap();
        embedder.wait_for_call().await;
        memory
    });
    drop(runtime);
    drop(blocked);
    (memory, embedder)
}

#[test]
fn claims_of_a_dropped_runtime_are_released_at_once() {
    for backend in Backend::all() {
        let (memory, _) = engine_of_dropped_runtime(&backend);
        let started = Instant::now();
        current_thread().block_on(memory.drain(&lin(), |_| ())).unwrap();
        assert!(started.elapsed() < TIME_LIMIT, "{:?}", started.elapsed());
    }
}

#[test]
fn claims_of_a_dropped_engine_are_released_at_once() {
    for backend in Backend::all().into_iter().skip(1) {
        let (memory, _) = engine_of_dropped_runtime(&backend);
        drop(memory);
        let started = Instant::now();
        current_thread().block_on(async {
            let memory = backend.builder().embedder(FlakyEmbedder::default()).background(false).build().await.unwrap();
            assert_eq!(memory.drain(&lin(), |_| ()).await.unwrap(), 1);
        });
        assert!(started.elapsed() < TIME_LIMIT, "{:?}", started.elapsed());
    }
}

#[test]
fn close_releases_claims_and_refuses_later_calls() {
    for backend in Backend::all() {
        current_thread().block_on(async {
            let memory = backend.builder().enrichment(EnrichmentOptions::rules().unwrap()).build().await.unwrap();
            let id = memory.remember(&lin(), "I live in Porto.").await.unwrap();
            let clone = memory.clone();
            assert!(!clone.admin().is_closed());
            memory.close().await.unwrap();
            assert!(clone.admin().is_closed());
            for (verb, kind) in error_kinds(&clone, id).await {
                assert_eq!(kind, ErrorKind::Closed, "{verb}");
            }
            clone.close().await.unwrap();
            memory.close().await.unwrap();
        });
    }
}

#[test]
fn several_calls_of_close_at_once_all_wait_for_the_end() {
    for backend in Backend::all() {
        multi_thread().block_on(async {
            let memory = backend.builder().build().await.unwrap();
            for n in 0..50 {
                memory.remember(&lin(), format!("lantern number {n}")).await.unwrap();
            }
            let (first, second, third) = tokio::join!(memory.close(), memory.close(), memory.close());
            first.and(second).and(third).unwrap();
        });
    }
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_does_not_end_is_released_on_close() {
    let embedder = Arc::new(FlakyEmbedder::default());
    let stores = Stores::in_memory(embedder.space().clone());
    let builder = || MemoryEngine::builder().stores(stores.clone()).embedder(embedder.clone());
    let blocked = embedder.block_calls();
    let memory = builder().build().await.unwrap();
    memory.remember(&lin(), "the spare key hangs in the barn").await.unwrap();
    embedder.wait_for_call().await;
    let started = tokio::time::Instant::now();
    memory.close().await.unwrap();
    assert!(started.elapsed() >= Duration::from_secs(10), "{:?}", started.elapsed());
    assert!(started.elapsed() < Duration::from_secs(12), "{:?}", started.elapsed());
    drop(blocked);
    let memory = builder().background(false).build().await.unwrap();
    let started = tokio::time::Instant::now();
    assert_eq!(memory.drain(&lin(), |_| ()).await.unwrap(), 1);
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_batch_that_ends_in_time_is_finished_before_the_engine_closes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.db");
    let embedder = Arc::new(FlakyEmbedder::default());
    let blocked = embedder.block_calls();
    let memory = MemoryEngine::builder().sqlite(&path).embedder(embedder.clone()).build().await.unwrap();
    memory.remember(&lin(), "the spare key hangs in the barn").await.unwrap();
    embedder.wait_for_call().await;
    let close = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        drop(blocked);
    };
    let (closed, ()) = tokio::join!(memory.close(), close);
    closed.unwrap();
    let memory =
        MemoryEngine::builder().sqlite(&path).embedder(embedder.clone()).background(false).build().await.unwrap();
    assert!(memory.stats(&lin()).await.unwrap().queued.values().all(|waiting| *waiting == 0));
}

#[tokio::test]
async fn a_drain_ends_with_an_error_when_the_engine_is_closed() {
    let embedder = Arc::new(FlakyEmbedder::default());
    let builder = MemoryEngine::builder().in_memory().embedder(embedder.clone()).background(false);
    let memory = builder.build().await.unwrap();
    embedder.fail(true);
    memory.remember(&lin(), "the spare key hangs in the barn").await.unwrap();
    // The error of the embedder ends the first drain at once. The second one waits for the postponed retry.
    let lin = lin();
    let _ = memory.drain(&lin, |_| ()).await;
    let (drained, closed) = tokio::join!(memory.drain(&lin, |_| ()), async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        memory.close().await
    });
    closed.unwrap();
    assert_eq!(kind(drained), ErrorKind::Closed);
}

#[tokio::test]
async fn warm_up_loads_every_part() {
    for backend in Backend::all() {
        let memory = backend.builder().background(false).build().await.unwrap();
        memory.remember(&lin(), Turn::user("the spare key hangs in the barn")).await.unwrap();
        memory.drain(&lin(), |_| ()).await.unwrap();
        let warm = memory.admin().warm_up().await.unwrap();
        let stages: Vec<&str> = warm.parts.iter().map(|part| part.stage).collect();
        assert_eq!(stages, ["analyzer", "keyword", "vector", "embedder"]);
        assert!(warm.degraded.is_empty());
        let found = memory.recall(&lin(), RecallQuery::new("spare key")).await.unwrap();
        assert_eq!((found.hits.len(), found.hits[0].found_by.len()), (1, 2));
    }
}

#[tokio::test]
async fn a_model_that_fails_to_warm_up_is_reported() {
    let embedder = Arc::new(FlakyEmbedder::default());
    embedder.fail(true);
    let builder = MemoryEngine::builder().in_memory().embedder(embedder).reranker(BrokenReranker::Failing);
    let warm = builder.background(false).build().await.unwrap().admin().warm_up().await.unwrap();
    assert_eq!(warm.parts.iter().map(|part| part.stage).collect::<Vec<_>>(), ["analyzer", "keyword", "vector"]);
    assert_eq!(warm.degraded.iter().map(|part| part.stage).collect::<Vec<_>>(), ["embedder", "reranker"]);
}
