//! The time zone and the language of users.

use jiff::tz::TimeZone;

use crate::language::Language;

/// The time zone and the language of an engine's users.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Locale {
    /// Time zone in which days ("tomorrow", "last Monday") are resolved and dates are written. Default: UTC.
    pub zone: TimeZone,
    /// Language of prompts, summaries and headings. Default: `None`, for the language of the respective text.
    pub language: Option<Language>,
}

impl Default for Locale {
    fn default() -> Self {
        Self { zone: TimeZone::UTC, language: None }
    }
}

impl Locale {
    crate::setters! {
        #![must_use]
        /// Sets the time zone.
        with_zone(zone: TimeZone);
        /// Sets the language. `None` stands for the language of the respective text.
        with_language(language: impl Into<Option<Language>>) => language = language.into();
    }

    /// Returns the language if it is set, otherwise that of the text.
    pub fn language_for(&self, text: &str) -> Language {
        self.language.unwrap_or_else(|| Language::of(text))
    }
}
