//! The deletion of the records that contain a text.

use memory_engine_core::Result;
use memory_engine_screening::ValuePattern;
use serde::{Deserialize, Serialize};

/// A text whose records are forgotten: those that contain it in their text, a former text, a label or their metadata.
///
/// Upper and lower case, full-width and traditional characters and the amount of white space make no difference, and
/// neither do the separators of numbers and codes, such as telephone numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ForgetText {
    /// The text: at least 3 characters, or 2 Chinese ones, and at most 1000.
    pub text: String,
    /// True to replace the text in the records by `[deleted]`, instead of deleting the records. Default: false.
    #[serde(default)]
    pub redact: bool,
}

impl ForgetText {
    /// Creates a target for the records that contain this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), redact: false }
    }

    /// Sets [`redact`](Self::redact).
    #[must_use]
    pub fn with_redact(mut self, redact: bool) -> Self {
        self.redact = redact;
        self
    }

    /// Returns the pattern of the text.
    ///
    /// # Errors
    /// `InvalidInput` for a text that is too short or too long.
    pub(crate) fn pattern(&self) -> Result<ValuePattern> {
        ValuePattern::new(&self.text)
    }
}
