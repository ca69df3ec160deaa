//! Counts the passes of the screening rules over a turn. This file has one test, because a process has one subscriber
//! that sees the events of all threads.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use memory_engine::{
    Kind, MemoryEngine, PutMode, Record, Scope, SystemClock, Turn,
    screening::{Category, ScreeningAction, ScreeningPolicy},
};
use tracing::{
    Event, Level, Metadata, Subscriber,
    span::{self, Attributes, Id},
    subscriber,
};

/// Counts the passes of the screening rules in the process.
struct CountPasses(Arc<AtomicUsize>);

impl Subscriber for CountPasses {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "memory_engine_indexing::screening" && *metadata.level() == Level::TRACE
    }

    fn event(&self, _: &Event<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn a_turn_is_screened_once() {
    let passes = Arc::new(AtomicUsize::new(0));
    subscriber::set_global_default(CountPasses(Arc::clone(&passes))).unwrap();
    let lin = Scope::user("lin").unwrap();
    let refusing = ScreeningPolicy::default().with(Category::Password, ScreeningAction::Refuse);
    for policy in [ScreeningPolicy::default(), refusing] {
        let memory = MemoryEngine::builder().in_memory().background(false).screening(policy).build().await.unwrap();
        let named = |text: &str| Turn::user(text).with_message_id("m1");
        memory.remember(&lin, "The key sk-ant-api03 is short").await.unwrap();
        assert_eq!(passes.swap(0, Ordering::Relaxed), 1);
        for text in ["hello", "hello", "hello again"] {
            memory.remember(&lin, named(text)).await.unwrap();
            assert_eq!(passes.swap(0, Ordering::Relaxed), 1, "{text}");
        }
        memory.remember_all(&lin, [named("hello"), Turn::user("bye")]).await.unwrap();
        assert_eq!(passes.swap(0, Ordering::Relaxed), 2);
        let note = Record::new(lin.clone(), Kind::NOTE, "tea", &SystemClock);
        memory.store(&lin, vec![note], PutMode::Upsert).await.unwrap();
        assert_eq!(passes.swap(0, Ordering::Relaxed), 1);
    }
}
