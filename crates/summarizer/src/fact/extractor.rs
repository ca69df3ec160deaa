//! The contract of finding facts.

use std::{fmt::Debug, sync::Arc};

use async_trait::async_trait;
use memory_engine_core::{Error, Record, Result};

use crate::fact::types::Fact;

/// What was found, and what went wrong beside it.
#[derive(Debug, Default)]
pub struct Facts {
    /// The facts, in the order in which they were said.
    pub facts: Vec<Fact>,
    /// Why a model had no part in it, where one should have had: the facts are those of the rules then.
    pub degraded: Option<Error>,
}

/// Finds what is known of people in what they say.
///
/// # Cancel safety
/// Dropping the future loses nothing: nothing is kept between calls.
#[async_trait]
pub trait FactExtractor: Debug + Send + Sync + 'static {
    /// The facts in turns that follow each other, oldest first. Turns before may serve to understand those after them, as
    /// when a question of the model is answered with a yes.
    ///
    /// No turns, or none that says anything of its speaker, give no facts. What a system or a tool wrote, what was
    /// injected, and what happens in a story give none.
    ///
    /// # Errors
    /// None that turns could cause. An extractor that needs a service falls back and says so in [`Facts::degraded`].
    async fn extract(&self, turns: &[Record]) -> Result<Facts>;
}

const _: fn(&dyn FactExtractor) = |_| {};

macro_rules! forward {
    ($($pointer:ident),*) => {$(
        #[async_trait]
        #[deny(clippy::missing_trait_methods)]
        impl<T: FactExtractor + ?Sized> FactExtractor for $pointer<T> {
            async fn extract(&self, turns: &[Record]) -> Result<Facts> {
                (**self).extract(turns).await
            }
        }
    )*};
}

forward!(Arc, Box);
