//! A service that answers wrongly delays jobs, and no record is given up because of it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use memory_engine::{
    Error, ErrorKind, Job, MemoryEngine, Result, Timestamp,
    embed::{Embedder, Embedding, EmbeddingSpace, HashEmbedder, Purpose},
    graph::ChatExtractor,
    llm::{ScriptedModel, ScriptedReply},
    testing::ManualClock,
};

use crate::given::{Backend, lin};

const NOON: Timestamp = Timestamp::from_micros(1_772_000_000_000_000);

/// The errors of the wrong answers of a service: HTML or half JSON, no such model, a rejected request, too few vectors,
/// no answer.
const WRONG_ANSWERS: [ErrorKind; 5] =
    [ErrorKind::Corrupt, ErrorKind::NotFound, ErrorKind::InvalidInput, ErrorKind::Internal, ErrorKind::Unavailable];

/// The hash embedder behind a service that fails in turn with each of [`WRONG_ANSWERS`], or answers correctly.
#[derive(Debug, Default)]
struct UnreliableEmbedder {
    hash: HashEmbedder,
    /// Index of the wrong answer; any greater number for correct answers.
    answer: AtomicUsize,
}

#[async_trait]
impl Embedder for UnreliableEmbedder {
    fn space(&self) -> &EmbeddingSpace {
        self.hash.space()
    }
    fn max_batch(&self) -> usize {
        self.hash.max_batch()
    }
    fn semantic_weight(&self) -> f64 {
        self.hash.semantic_weight()
    }
    fn score_floor(&self) -> f64 {
        self.hash.score_floor()
    }
    async fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Embedding>> {
        if let Some(kind) = WRONG_ANSWERS.get(self.answer.load(Ordering::Relaxed)) {
            return Err(Error::new(*kind, "embed", "the answer cannot be used"));
        }
        // One text is refused while the service works.
        if texts.iter().any(|text| text.contains("unembeddable")) {
            return Err(Error::new(ErrorKind::Corrupt, "embed", "the vector is all zeros"));
        }
        self.hash.embed(texts, purpose).await
    }
}

async fn open(backend: &Backend, embedder: &Arc<UnreliableEmbedder>, clock: &Arc<ManualClock>) -> MemoryEngine {
    let builder = backend.builder().embedder(embedder.clone()).clock(clock.clone()).background(false);
    builder.build().await.unwrap()
}

/// Drains the queue again and again while time passes.
async fn drain_for_an_hour(memory: &MemoryEngine, clock: &ManualClock) {
    for _ in 0..60 {
        let _ = tokio::time::timeout(Duration::from_millis(50), memory.drain(&lin(), |_| ())).await;
        clock.advance(Duration::from_secs(60));
    }
}

#[tokio::test]
async fn no_record_becomes_a_dead_letter_because_of_its_service() {
    for count in [1, 40] {
        for backend in Backend::all() {
            let clock = Arc::new(ManualClock::new(NOON));
            let embedder = Arc::new(UnreliableEmbedder::default());
            let memory = open(&backend, &embedder, &clock).await;
            for number in 0..count {
                memory.remember(&lin(), format!("note {number} of {count}").as_str()).await.unwrap();
            }
            for (answer, reason) in WRONG_ANSWERS.iter().enumerate() {
                embedder.answer.store(answer, Ordering::Relaxed);
                drain_for_an_hour(&memory, &clock).await;
                let stats = memory.stats(&lin()).await.unwrap();
                assert_eq!(stats.queued.get(&Job::Embedding), Some(&count), "{count} records, {reason:?}");
                assert!(stats.dead_letters.is_empty(), "{count} records, {reason:?}");
                let failures = memory.admin().failures(&lin(), 99).await.unwrap();
                assert!(failures.iter().any(|failure| failure.reason.contains("cannot be used")), "{failures:?}");
            }
            embedder.answer.store(usize::MAX, Ordering::Relaxed);
            memory.drain(&lin(), |_| ()).await.unwrap();
            assert!(memory.stats(&lin()).await.unwrap().queued.is_empty());
        }
    }
}

#[tokio::test]
async fn a_record_that_is_at_fault_is_given_up_and_can_be_retried() {
    for backend in Backend::all() {
        let clock = Arc::new(ManualClock::new(NOON));
        let embedder = Arc::new(UnreliableEmbedder { answer: usize::MAX.into(), ..UnreliableEmbedder::default() });
        let memory = open(&backend, &embedder, &clock).await;
        for text in ["a note", "an unembeddable note", "another note"] {
            memory.remember(&lin(), text).await.unwrap();
        }
        drain_for_an_hour(&memory, &clock).await;
        let stats = memory.stats(&lin()).await.unwrap();
        assert_eq!((stats.queued.len(), stats.dead_letters), (0, [(Job::Embedding, 1)].into()));
        let failures = memory.admin().failures(&lin(), 9).await.unwrap();
        assert!(failures.len() == 1 && failures[0].reason.contains("all zeros"), "{failures:?}");
        assert_eq!(memory.admin().retry_dead_letters(&lin(), &[Job::Facts]).await.unwrap(), 0);
        assert_eq!(memory.admin().retry_dead_letters(&lin(), &[Job::Embedding]).await.unwrap(), 1);
        let stats = memory.stats(&lin()).await.unwrap();
        assert_eq!((stats.queued, stats.dead_letters.len()), ([(Job::Embedding, 1)].into(), 0));
    }
}

/// A record that is alone in the queue cannot be compared with others: only a test of the model tells its fault.
#[tokio::test]
async fn a_lone_record_on_which_a_model_fails_is_given_up_only_if_the_model_works() {
    let test = "Reply with OK.";
    let fail = || ScriptedReply::Fail(ErrorKind::Corrupt);
    let models = [
        (ScriptedModel::default().when_asked(test, "OK").otherwise(fail()), true),
        (ScriptedModel::default().otherwise(fail()), false),
        (ScriptedModel::default().when_asked(test, fail()).otherwise("no JSON"), false),
    ];
    for (model, is_given_up) in &models {
        for backend in Backend::all() {
            let clock = Arc::new(ManualClock::new(NOON));
            let builder = backend.builder().graph(ChatExtractor::new(model.clone()));
            let memory = builder.clock(clock.clone()).background(false).build().await.unwrap();
            memory.remember(&lin(), "Lin lives in Bern.").await.unwrap();
            drain_for_an_hour(&memory, &clock).await;
            let stats = memory.stats(&lin()).await.unwrap();
            let (queued, dead_letters) = (stats.queued.get(&Job::Graph), stats.dead_letters.get(&Job::Graph));
            let expected = if *is_given_up { (None, Some(&1)) } else { (Some(&1), None) };
            assert_eq!((queued, dead_letters), expected, "{:?}", model.requests().len());
            memory.close().await.unwrap();
        }
    }
}
