//! The deletion of the records that contain a text.

use memory_engine_core::{Error, Result};
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
    /// True to keep the text out afterwards: it is replaced by `[deleted]` in every record that is stored within the
    /// scope, until its entry, which `kept_out` lists, is forgotten. Default:
    /// false.
    #[serde(default)]
    pub keep_out: bool,
}

impl ForgetText {
    /// Creates a target for the records that contain this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), redact: false, keep_out: false }
    }

    memory_engine_core::setters! {
        #![must_use]
        /// Sets [`redact`](Self::redact).
        with_redact(redact: bool);
        /// Sets [`keep_out`](Self::keep_out).
        with_keep_out(keep_out: bool);
    }

    /// Returns the pattern of the text.
    ///
    /// # Errors
    /// `InvalidInput` for a text that is too short or too long, or that would be replaced by itself.
    pub(crate) fn pattern(&self) -> Result<ValuePattern> {
        let pattern = ValuePattern::new(&self.text)?;
        if (self.redact || self.keep_out) && !pattern.find("[deleted]").is_empty() {
            let message =
                "the text is a part of [deleted], which replaces it; name a longer one, or delete the records";
            return Err(Error::invalid("forget", message));
        }
        Ok(pattern)
    }
}
