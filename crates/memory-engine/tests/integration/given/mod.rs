//! Fixtures of the tests. Tests of other crates include this file, too.

#![allow(dead_code, reason = "each program of tests uses a part of it")]

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
    /// Returns every backend, each empty.
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

/// The hash embedder, which a test can let fail or block.
#[derive(Debug, Default)]
pub(crate) struct FlakyEmbedder {
    inner: HashEmbedder,
    failing: AtomicBool,
    gate: Mutex<()>,
    called: Notify,
}

impl FlakyEmbedder {
    pub(crate) fn fail(&self, failing: bool) {
        self.failing.store(failing, Ordering::SeqCst);
    }

    /// Blocks every call until the guard is dropped.
    pub(crate) fn block_calls(&self) -> MutexGuard<'_, ()> {
        self.gate.try_lock().unwrap()
    }

    /// Waits for the next call.
    pub(crate) async fn wait_for_call(&self) {
        self.called.notified().await;
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
        self.called.notify_one();
        let _unblocked = self.gate.lock().await;
        if self.failing.load(Ordering::SeqCst) {
            return Err(Error::new(ErrorKind::Unavailable, "embed", "the embedder is out of order"));
        }
        self.inner.embed(texts, purpose).await
    }
}

/// A reranker that gives no usable scores.
#[derive(Debug)]
pub(crate) enum BrokenReranker {
    Hanging,
    Failing,
    Miscounting,
}

#[async_trait]
impl Reranker for BrokenReranker {
    async fn rerank(&self, _: &str, _: &[&str]) -> Result<Vec<Score>> {
        match self {
            Self::Hanging => std::future::pending().await,
            Self::Failing => Err(Error::new(ErrorKind::Unavailable, "rerank", "the reranker is out of order")),
            Self::Miscounting => Ok(vec![Score::new(1.0)]),
        }
    }
}
