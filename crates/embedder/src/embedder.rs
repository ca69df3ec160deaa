//! The trait of embedders.

use std::{fmt::Debug, sync::Arc};

use async_trait::async_trait;
use memory_engine_core::{Embedding, EmbeddingSpace, Error, ErrorKind, MultiVector, Result, enum_names};

/// Embeds texts as vectors of one space.
///
/// # Cancel safety
/// Dropping the future of `embed` has no effect except for work that a remote service may have done.
#[async_trait]
pub trait Embedder: Debug + Send + Sync + 'static {
    /// Returns the embedding space of all its vectors.
    fn space(&self) -> &EmbeddingSpace;

    /// Returns the maximum number of texts in one call, at least 1. Callers split larger batches.
    fn max_batch(&self) -> usize;

    /// Returns the weight of vector similarity relative to keywords, from 0 (no better than keyword search) to 1.
    /// Recall uses it as the weight of the vector retriever.
    fn semantic_weight(&self) -> f64;

    /// Returns the score up to which two texts are unrelated, on the scale of this model. The vector retriever drops
    /// hits up to this score.
    fn score_floor(&self) -> f64;

    /// Returns the scale for a query. An embedder that understands some languages only returns another one for each.
    /// Default: [`semantic_weight`](Embedder::semantic_weight) and [`score_floor`](Embedder::score_floor).
    fn scale(&self, query: &str) -> Scale {
        let _ = query;
        Scale { semantic_weight: self.semantic_weight(), score_floor: self.score_floor() }
    }

    /// Returns the typical score of an unrelated query and text. It may depend on their languages. Default:
    /// [`score_floor`](Embedder::score_floor) for all texts.
    fn unrelated(&self, query: &str, text: &str) -> f64 {
        let _ = (query, text);
        self.score_floor()
    }

    /// Returns one vector for each text, in the same order. An empty batch returns no vectors.
    ///
    /// # Errors
    /// `InvalidInput` if a text is empty or there are more than [`max_batch`](Embedder::max_batch); the error of the
    /// model or service. A batch fails as a whole.
    async fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Embedding>>;

    /// Returns one vector for each text, as [`embed`](Embedder::embed) does, together with the vectors of its tokens.
    /// Recall compares those token by token. Default: no vectors of tokens.
    ///
    /// # Errors
    /// As [`embed`](Embedder::embed).
    async fn embed_with_tokens(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<TextEncoding>> {
        Ok(self.embed(texts, purpose).await?.into_iter().map(TextEncoding::new).collect())
    }

    /// Returns the vectors of the tokens of a text, for an embedder whose token vectors do not depend on the context of
    /// the token (static embeddings). Computing them is a table look-up, so they are not stored: recall computes those
    /// of its candidates. `None` for a text without tokens. Default: `None` for every text.
    fn static_tokens(&self, text: &str) -> Option<MultiVector> {
        let _ = text;
        None
    }
}

const _: fn(&dyn Embedder) = |_| {};

/// The meaning of an embedder's scores for one query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// See [`Embedder::semantic_weight`].
    pub semantic_weight: f64,
    /// See [`Embedder::score_floor`].
    pub score_floor: f64,
}

/// The vectors of a text: one for the whole text, and those of its tokens.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TextEncoding {
    /// The vector of the text.
    pub embedding: Embedding,
    /// The vectors of its tokens, if the model has token vectors.
    pub tokens: Option<MultiVector>,
}

impl TextEncoding {
    /// Creates an encoding without vectors of tokens.
    pub fn new(embedding: Embedding) -> Self {
        Self { embedding, tokens: None }
    }

    /// Sets the vectors of the tokens.
    #[must_use]
    pub fn with_tokens(mut self, tokens: MultiVector) -> Self {
        self.tokens = Some(tokens);
        self
    }

    /// Checks the answer of an embedder to a batch: one vector for each text, in the dimensions of the space.
    ///
    /// # Errors
    /// `DimensionMismatch` for another number of vectors, and for a vector of another length.
    pub fn check_batch(space: &EmbeddingSpace, texts: usize, encodings: &[Self]) -> Result<()> {
        if encodings.len() != texts {
            let vectors = encodings.len();
            let message =
                format!("the embedder returned {vectors} vectors for {texts} texts; it must return one for each");
            return Err(Error::new(ErrorKind::DimensionMismatch, "embed", message));
        }
        encodings.iter().try_for_each(|encoding| space.check("embed", &encoding.embedding))
    }

    /// Returns the approximate size in memory, for caches.
    pub fn size_bytes(&self) -> usize {
        let tokens = self.tokens.as_ref().map_or(0, |tokens| tokens.codes().len() + size_of_val(tokens.tokens()));
        size_of::<Self>() + size_of_val(self.embedding.values()) + tokens
    }
}

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
            fn scale(&self, query: &str) -> Scale {
                (**self).scale(query)
            }
            fn unrelated(&self, query: &str, text: &str) -> f64 {
                (**self).unrelated(query, text)
            }
            async fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Embedding>> {
                (**self).embed(texts, purpose).await
            }
            async fn embed_with_tokens(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<TextEncoding>> {
                (**self).embed_with_tokens(texts, purpose).await
            }
            fn static_tokens(&self, text: &str) -> Option<MultiVector> {
                (**self).static_tokens(text)
            }
        }
    )*};
}

forward!(Arc, Box);
