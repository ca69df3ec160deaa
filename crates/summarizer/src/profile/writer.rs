//! The contract of profile writers.

use std::{fmt::Debug, sync::Arc};

use async_trait::async_trait;
use jiff::tz::TimeZone;
use memory_engine_core::{Language, Record, Result};

use super::fields::Profile;

/// The input of a [`ProfileSummarizer`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Observed<'r> {
    /// The profile so far.
    pub profile: Profile,
    /// The messages of both speakers since then, oldest first.
    pub messages: &'r [Record],
    /// The name of the companion. Empty without one; then the profile has no relationship.
    pub companion: &'r str,
    /// The language to write in.
    pub language: Language,
    /// Labels of further fields.
    pub details: &'r [String],
    /// The user's time zone. Default: UTC.
    pub zone: TimeZone,
}

impl<'r> Observed<'r> {
    /// Creates an input with these messages and an empty profile, in the time zone UTC.
    pub fn new(messages: &'r [Record], companion: &'r str, language: Language) -> Self {
        Self { profile: Profile::default(), messages, companion, language, details: &[], zone: TimeZone::UTC }
    }

    memory_engine_core::setters! {
        #![must_use]
        /// Sets the profile so far.
        with_profile(profile: Profile);
        /// Sets the labels of further fields.
        with_details(details: &'r [String]);
        /// Sets the user's time zone.
        with_zone(zone: TimeZone);
    }
}

/// Writes the profile of a user.
///
/// # Cancel safety
/// Dropping the future discards the new profile; the stored one stays.
#[async_trait]
pub trait ProfileSummarizer: Debug + Send + Sync + 'static {
    /// Returns the updated profile. Without messages it is the profile so far.
    ///
    /// # Errors
    /// The errors of the model; `InvalidInput` if its answer cannot be parsed.
    async fn summarize(&self, observed: &Observed<'_>) -> Result<Profile>;
}

const _: fn(&dyn ProfileSummarizer) = |_| {};

macro_rules! forward {
    ($($pointer:ident),*) => {$(
        #[async_trait]
        #[deny(clippy::missing_trait_methods)]
        impl<T: ProfileSummarizer + ?Sized> ProfileSummarizer for $pointer<T> {
            async fn summarize(&self, observed: &Observed<'_>) -> Result<Profile> {
                (**self).summarize(observed).await
            }
        }
    )*};
}

forward!(Arc, Box);
