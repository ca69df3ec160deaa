//! A summary, and the contract of making one.

use std::{fmt::Debug, sync::Arc};

use async_trait::async_trait;
use jiff::tz::{self, TimeZone};
use memory_engine_core::{Error, Record, RecordId, Result};

use crate::language::Language;

/// How a summary is to be.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SummaryRequest {
    /// How many characters it may have.
    pub max_chars: usize,
    /// Its language; that of most turns where none is named.
    pub language: Option<Language>,
    /// The zone of its dates.
    pub zone: TimeZone,
}

impl Default for SummaryRequest {
    fn default() -> Self {
        Self { max_chars: 400, language: None, zone: TimeZone::fixed(tz::offset(8)) }
    }
}

impl SummaryRequest {
    /// Another length.
    #[must_use]
    pub fn with_max_chars(mut self, max_chars: usize) -> Self {
        self.max_chars = max_chars;
        self
    }

    /// A language of its own.
    #[must_use]
    pub fn with_language(mut self, language: Language) -> Self {
        self.language = Some(language);
        self
    }

    /// Another zone for its dates.
    #[must_use]
    pub fn with_zone(mut self, zone: TimeZone) -> Self {
        self.zone = zone;
        self
    }
}

/// A summary, and what it covers.
#[derive(Debug)]
#[non_exhaustive]
pub struct Summary {
    /// What it says; empty when the turns say nothing that is worth telling.
    pub text: String,
    /// Its language.
    pub language: Language,
    /// What the turns are about, in a few words.
    pub topic: Option<String>,
    /// The names in it.
    pub entities: Vec<String>,
    /// The turns that it covers, in their order.
    pub covered: Vec<RecordId>,
    /// Why a model had no part in it, where one should have had.
    pub degraded: Option<Error>,
}

/// Makes one text of several turns.
///
/// # Cancel safety
/// Dropping the future loses nothing.
#[async_trait]
pub trait Summarizer: Debug + Send + Sync + 'static {
    /// The summary of turns that follow each other, oldest first. What a system or a tool wrote, and memories that were
    /// injected, are no part of it, and are not covered.
    ///
    /// # Errors
    /// `InvalidInput` when there is no turn, or no room for a sentence. A summarizer that needs a service falls back and says
    /// so in [`Summary::degraded`].
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
