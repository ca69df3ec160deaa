//! The contract.

use std::{fmt::Debug, sync::Arc};

use async_trait::async_trait;
use memory_engine_core::{Embedding, EmbeddingSpace, Error, Result, enum_names};

/// Turns texts into vectors of one space.
///
/// # Cancel safety
/// Dropping the future of `embed` leaves nothing behind but the work that a remote service may have done.
#[async_trait]
pub trait Embedder: Debug + Send + Sync + 'static {
    /// The space of every vector it gives.
    fn space(&self) -> &EmbeddingSpace;

    /// Maximum number of texts in one call, at least 1. Callers split larger batches.
    fn max_batch(&self) -> usize;

    /// Weight of vector similarity beside keywords, from 0 (no more than a keyword search) to 1. Recall weighs the
    /// vector retriever by it.
    fn semantic_weight(&self) -> f64;

    /// The score up to which two texts have nothing to do with each other, on this model's own scale: what the vector
    /// arm finds below it is not evidence.
    fn score_floor(&self) -> f64;

    /// The score that a question and a text have as a rule that have nothing to do with each other. Models place what
    /// is unrelated higher or lower by its language; one number for all, [`score_floor`](Embedder::score_floor),
    /// unless an embedder knows better.
    fn unrelated(&self, question: &str, text: &str) -> f64 {
        let _ = (question, text);
        self.score_floor()
    }

    /// One vector for each text, in their order; no texts give no vectors.
    ///
    /// # Errors
    /// `InvalidInput` if a text is empty or there are more than [`max_batch`](Embedder::max_batch); the error of the
    /// model or service. It fails as a whole: there are never vectors for some texts only.
    async fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Embedding>>;
}

const _: fn(&dyn Embedder) = |_| {};

/// The purpose of a vector: some models embed a query differently from a text that answers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// The vector of a query.
    Query,
    /// The vector of a stored text.
    Document,
}

enum_names! {
    Purpose, "purpose" {
        Query => "query",
        Document => "document",
    }
}

macro_rules! forward {
    ($($pointer:ident),*) => {$(
        #[async_trait]
        #[deny(clippy::missing_trait_methods)]
        impl<T: Embedder + ?Sized> Embedder for $pointer<T> {
            fn space(&self) -> &EmbeddingSpace {
                (**self).space()
            }
            fn max_batch(&self) -> usize {
                (**self).max_batch()
            }
            fn semantic_weight(&self) -> f64 {
                (**self).semantic_weight()
            }
            fn score_floor(&self) -> f64 {
                (**self).score_floor()
            }
            fn unrelated(&self, question: &str, text: &str) -> f64 {
                (**self).unrelated(question, text)
            }
            async fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Embedding>> {
                (**self).embed(texts, purpose).await
            }
        }
    )*};
}

forward!(Arc, Box);
