//! The blocking facade.

#![cfg(feature = "blocking")]
#![allow(clippy::disallowed_methods, reason = "without async, waiting blocks the thread")]

use std::time::{Duration, Instant};

use memory_engine::{EnrichmentOptions, ErrorKind, Forget, ScanQuery, Turn, blocking::MemoryEngine};

use crate::given::{Backend, lin};

fn wait_for_background(memory: &MemoryEngine) {
    let started = Instant::now();
    while memory.stats(&lin()).unwrap().queued.values().any(|waiting| *waiting > 0) {
        assert!(started.elapsed() < Duration::from_secs(60), "the background worker does nothing");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_program_without_a_runtime_uses_every_main_verb() {
    for backend in Backend::all() {
        let builder = backend.builder().enrichment(EnrichmentOptions::rules().unwrap());
        let memory = builder.build_blocking().unwrap();
        let id = memory.remember(&lin(), "I live in Porto.").unwrap();
        let turns = [Turn::user("the spare key hangs in the barn"), Turn::assistant("Noted.")];
        assert_eq!(memory.remember_all(&lin(), turns).unwrap().len(), 2);
        wait_for_background(&memory);
        memory.drain(&lin(), |_| ()).unwrap();
        memory.warm_up().unwrap();
        assert_eq!(memory.facts(&lin()).unwrap()[0].text, "The user lives in Porto.");
        assert_eq!(memory.recall(&lin(), "where is the spare key?").unwrap().hits[0].found_by.len(), 2);
        assert!(memory.wait(memory.engine().context(&lin(), "the spare key")).unwrap().text.contains("barn"));
        memory.update(&lin(), id, "I live in Lisbon.").unwrap();
        assert_eq!(memory.get(&lin(), id).unwrap().unwrap().text, "I live in Lisbon.");
        assert!(memory.scan(&lin(), &ScanQuery::oldest(9)).unwrap().records.len() >= 3);
        memory.forget(&lin(), Forget::Everything).unwrap();
        let clone = memory.clone();
        clone.close().unwrap();
        assert!(memory.is_closed());
        assert_eq!(memory.stats(&lin()).unwrap_err().kind(), ErrorKind::Closed);
        memory.close().unwrap();
    }
}

#[test]
fn blocking_calls_within_a_runtime_are_errors_and_dropping_is_safe() {
    for backend in Backend::all() {
        let memory = backend.builder().build_blocking().unwrap();
        memory.remember(&lin(), "the spare key hangs in the barn").unwrap();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let error = memory.recall(&lin(), "spare key").unwrap_err();
            assert!(error.kind() == ErrorKind::Unsupported && error.message().contains("async"), "{error}");
            let error = MemoryEngine::builder().in_memory().build_blocking().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            // The async engine in it can be used there.
            assert_eq!(memory.engine().recall(&lin(), "spare key").await.unwrap().hits.len(), 1);
            drop(memory);
        });
    }
}

#[test]
fn threads_share_one_engine() {
    for backend in Backend::all() {
        let memory = backend.builder().build_blocking().unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let memory = &memory;
                scope.spawn(move || {
                    for n in 0..10 {
                        memory.remember(&lin(), format!("lantern number {n} of thread {thread}")).unwrap();
                    }
                });
            }
        });
        assert_eq!(memory.stats(&lin()).unwrap().records, 40);
        wait_for_background(&memory);
    }
}
