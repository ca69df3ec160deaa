//! The contract of rerankers.

use std::{fmt::Debug, sync::Arc};

use async_trait::async_trait;
use memory_engine_core::{Result, Score};

/// Scores how well each of a few candidates answers a question, from both texts together.
///
/// # Cancel safety
/// Dropping the future loses nothing: a reranker keeps no state between calls. A remote service may charge for the
/// call.
#[async_trait]
pub trait Reranker: Debug + Send + Sync + 'static {
    /// Returns one score for each candidate, in their order. Scores are comparable within one call only.
    ///
    /// # Errors
    /// The error of the model or service. The caller then keeps the previous order.
    async fn rerank(&self, question: &str, candidates: &[&str]) -> Result<Vec<Score>>;
}

const _: fn(&dyn Reranker) = |_| {};

macro_rules! forward {
    ($($pointer:ident),*) => {$(
        #[async_trait]
        #[deny(clippy::missing_trait_methods)]
        impl<T: Reranker + ?Sized> Reranker for $pointer<T> {
            async fn rerank(&self, question: &str, candidates: &[&str]) -> Result<Vec<Score>> {
                (**self).rerank(question, candidates).await
            }
        }
    )*};
}

forward!(Arc, Box);
