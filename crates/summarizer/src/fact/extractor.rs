//! The contract of fact extraction, and its result.

use std::{fmt::Debug, sync::Arc};

use async_trait::async_trait;
use memory_engine_core::{Error, Locale, Record, Result};

use crate::fact::types::ExtractedFact;

/// The result of an extraction.
#[derive(Debug, Default)]
pub struct Facts {
    /// The facts, in the order in which they were stated.
    pub facts: Vec<ExtractedFact>,
    /// The reason why the model failed. The facts are then those of the rules. `None` if the model answered, or there
    /// is none.
    pub degraded: Option<Error>,
}

/// Extracts facts about people from what they say.
///
/// # Cancel safety
/// Dropping the future loses nothing: an extractor keeps no state between calls.
#[async_trait]
pub trait FactExtractor: Debug + Send + Sync + 'static {
    /// Returns the facts in consecutive turns, oldest first. Earlier turns may explain later ones, for example a
    /// question of the model that is answered with a yes.
    ///
    /// Dates relative to a turn ("tomorrow") are those of `locale.zone`. A model writes in `locale.language`; rules
    /// write in the language of the sentence.
    ///
    /// Turns of a system or a tool, injected text and fiction give no facts.
    ///
    /// # Errors
    /// None that turns could cause. An extractor whose service fails falls back to rules and sets [`Facts::degraded`].
    async fn extract(&self, turns: &[Record], locale: &Locale) -> Result<Facts>;
}

const _: fn(&dyn FactExtractor) = |_| {};

macro_rules! forward {
    ($($pointer:ident),*) => {$(
        #[async_trait]
        #[deny(clippy::missing_trait_methods)]
        impl<T: FactExtractor + ?Sized> FactExtractor for $pointer<T> {
            async fn extract(&self, turns: &[Record], locale: &Locale) -> Result<Facts> {
                (**self).extract(turns, locale).await
            }
        }
    )*};
}

forward!(Arc, Box);
