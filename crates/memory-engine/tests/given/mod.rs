//! Fixtures of the tests.

#![allow(dead_code, reason = "each test file needs a part of it")]

pub(crate) mod slow;

use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use memory_engine::{
    Builder, Error, ErrorKind, MemoryEngine, Result, Scope,
    embed::{Embedder, Embedding, EmbeddingSpace, HashEmbedder, Purpose},
    recall::Reranker,
    store::Score,
};
use tokio::sync::{Mutex, MutexGuard, Notify};

/// The user of most tests.
pub(crate) fn lin() -> Scope {
    Scope::user("lin").unwrap()
}

/// A backend of the engine.
pub(crate) struct Backend {
    folder: Option<tempfile::TempDir>,
}

impl Backend {
    /// Every backend, each with nothing in it.
    pub(crate) fn all() -> [Self; 2] {
        [Self { folder: None }, Self { folder: Some(tempfile::tempdir().unwrap()) }]
    }

    pub(crate) fn builder(&self) -> Builder {
        match &self.folder {
            None => MemoryEngine::builder().in_memory(),
            Some(folder) => MemoryEngine::builder().sqlite(folder.path().join("memory.db")),
        }
    }
}

/// The hash embedder, but it can be out of order or be held up.
#[derive(Debug, Default)]
pub(crate) struct FlakyEmbedder {
    inner: HashEmbedder,
    failing: AtomicBool,
    gate: Mutex<()>,
    asked: Notify,
}

impl FlakyEmbedder {
    pub(crate) fn fail(&self, failing: bool) {
        self.failing.store(failing, Ordering::SeqCst);
    }

    /// Holds every call up until the guard is dropped.
    pub(crate) fn hold(&self) -> MutexGuard<'_, ()> {
        self.gate.try_lock().unwrap()
    }

    pub(crate) async fn wait_until_asked(&self) {
        self.asked.notified().await;
    }
}

#[async_trait]
impl Embedder for FlakyEmbedder {
    fn space(&self) -> &EmbeddingSpace {
        self.inner.space()
    }
    fn max_batch(&self) -> usize {
        self.inner.max_batch()
    }
    fn semantic_weight(&self) -> f64 {
        self.inner.semantic_weight()
    }
    fn score_floor(&self) -> f64 {
        self.inner.score_floor()
    }
    async fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Embedding>> {
        self.asked.notify_one();
        let _passed = self.gate.lock().await;
        if self.failing.load(Ordering::SeqCst) {
            return Err(Error::new(ErrorKind::Unavailable, "embed", "the embedder is out of order"));
        }
        self.inner.embed(texts, purpose).await
    }
}

/// A reranker that is no help.
#[derive(Debug)]
pub(crate) enum SlowReranker {
    Hanging,
    Failing,
    Miscounting,
}

#[async_trait]
impl Reranker for SlowReranker {
    async fn rerank(&self, _: &str, _: &[&str]) -> Result<Vec<Score>> {
        match self {
            Self::Hanging => std::future::pending().await,
            Self::Failing => Err(Error::new(ErrorKind::Unavailable, "rerank", "the reranker is out of order")),
            Self::Miscounting => Ok(vec![Score::new(1.0)]),
        }
    }
}
