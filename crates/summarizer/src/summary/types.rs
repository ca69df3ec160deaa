//! A summary, and the contract of summarizers.

use std::{fmt::Debug, sync::Arc};

use async_trait::async_trait;
use jiff::tz::TimeZone;
use memory_engine_core::{Error, Language, Locale, Record, RecordId, Result};

/// Options of a summary.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SummaryRequest {
    /// Maximum number of characters. Default: 400.
    pub max_chars: usize,
    /// The language. Default: that of the engine; if it has none, that of most turns.
    pub language: Option<Language>,
    /// The time zone of the dates. Default: that of the engine; UTC without an engine.
    pub zone: Option<TimeZone>,
}

impl Default for SummaryRequest {
    fn default() -> Self {
        Self { max_chars: 400, language: None, zone: None }
    }
}

impl SummaryRequest {
    memory_engine_core::setters! {
        #![must_use]
        /// Sets the maximum number of characters.
        with_max_chars(max_chars: usize);
        /// Sets the language.
        with_language(language: Language) => language = Some(language);
        /// Sets the time zone of the dates.
        with_zone(zone: TimeZone) => zone = Some(zone);
    }

    /// Sets zone and language to those of a locale where the request has none.
    #[must_use]
    pub fn with_defaults(mut self, locale: &Locale) -> Self {
        self.zone.get_or_insert_with(|| locale.zone.clone());
        self.language = self.language.or(locale.language);
        self
    }

    pub(crate) fn zone_or_utc(&self) -> TimeZone {
        self.zone.clone().unwrap_or(TimeZone::UTC)
    }
}

/// A summary with the turns that it covers. A [`Summarizer`] of an application builds it by its fields, or by
/// [`Summary::new`].
#[derive(Debug)]
pub struct Summary {
    /// The text. Empty if no sentence of the turns is suitable.
    pub text: String,
    /// Its language.
    pub language: Language,
    /// The topic of the turns, in a few words.
    pub topic: Option<String>,
    /// The names in the text.
    pub entities: Vec<String>,
    /// The turns that it covers, in their order.
    pub covered: Vec<RecordId>,
    /// The reason why the model failed. The text is then an extract. `None` if the model answered, or there is none.
    pub degraded: Option<Error>,
}

impl Summary {
    /// Creates a summary of these turns, without a topic and names.
    pub fn new(text: impl Into<String>, language: Language, covered: impl IntoIterator<Item = RecordId>) -> Self {
        let covered = covered.into_iter().collect();
        Self { text: text.into(), language, topic: None, entities: Vec::new(), covered, degraded: None }
    }
}

/// Summarizes turns.
///
/// # Cancel safety
/// Dropping the future loses nothing.
#[async_trait]
pub trait Summarizer: Debug + Send + Sync + 'static {
    /// Returns the summary of consecutive turns, oldest first. Turns of a system or a tool and injected memories are
    /// left out and not covered.
    ///
    /// # Errors
    /// `InvalidInput` without a turn, or with fewer than 40 characters for the text. A summarizer whose service fails
    /// falls back to an extract and sets [`Summary::degraded`].
    async fn summarize(&self, turns: &[Record], request: &SummaryRequest) -> Result<Summary>;
}

const _: fn(&dyn Summarizer) = |_| {};

macro_rules! forward {
    ($($pointer:ident),*) => {$(
        #[async_trait]
        #[deny(clippy::missing_trait_methods)]
        impl<T: Summarizer + ?Sized> Summarizer for $pointer<T> {
            async fn summarize(&self, turns: &[Record], request: &SummaryRequest) -> Result<Summary> {
                (**self).summarize(turns, request).await
            }
        }
    )*};
}

forward!(Arc, Box);
