//! The contract.

use std::{fmt::Debug, sync::Arc};

use async_trait::async_trait;
use memory_engine_core::{Result, Score};

/// Judges how well each of a few candidates answers a question, by looking at both together.
///
/// # Cancel safety
/// Dropping the future leaves nothing behind but the work that a remote service may have done.
#[async_trait]
pub trait Reranker: Debug + Send + Sync + 'static {
    /// One score for each candidate, in their order; no candidates give no scores. The scores of one call compare with
    /// each other and with nothing else.
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
