//! Models that fail and repeat their input in the errors.

use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use memory_engine::{
    Error, ErrorKind, Result,
    embed::{Embedder, Embedding, EmbeddingSpace, HashEmbedder, Purpose},
    llm::{ChatModel, ChatReply, ChatRequest, ChatStream},
};

/// A word in every text, name, key and path of the test.
pub(crate) const SECRET: &str = "qwertz";

/// The hash embedder, until it fails.
#[derive(Debug, Default)]
pub(crate) struct LeakyEmbedder {
    inner: HashEmbedder,
    is_failing: AtomicBool,
}

impl LeakyEmbedder {
    pub(crate) fn fail(&self) {
        self.is_failing.store(true, Ordering::SeqCst);
    }
}

#[async_trait]
impl Embedder for LeakyEmbedder {
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
        if self.is_failing.load(Ordering::SeqCst) {
            let message = format!("{SECRET}: cannot embed {texts:?}");
            return Err(Error::new(ErrorKind::Unavailable, "embed", message));
        }
        self.inner.embed(texts, purpose).await
    }
}

/// A model that refuses everything.
#[derive(Debug)]
pub(crate) struct LeakyModel;

fn refused(request: &ChatRequest) -> Error {
    let texts: Vec<&str> = request.messages.iter().map(|message| message.content.as_str()).collect();
    Error::new(ErrorKind::InvalidInput, "chat", format!("{SECRET}: refused {texts:?}"))
}

#[async_trait]
impl ChatModel for LeakyModel {
    fn name(&self) -> &str {
        "model-qwertz"
    }
    async fn complete(&self, request: &ChatRequest) -> Result<ChatReply> {
        Err(refused(request))
    }
    async fn stream(&self, request: &ChatRequest) -> Result<ChatStream> {
        Err(refused(request))
    }
}
