//! A build without the feature `enrichment`: facts cannot be corrected.

use memory_engine_core::{Error, ErrorKind, Record, RecordId, Result};

use crate::enrichment::Enrichment;

impl Enrichment {
    /// Always fails: without extraction, the metadata of a fact would contradict its new text.
    ///
    /// # Errors
    /// `Unsupported`.
    pub async fn correct_fact(&self, _record: &Record, _text: &str) -> Result<Option<RecordId>> {
        let message = "this build cannot correct facts; enable the feature `enrichment`";
        Err(Error::new(ErrorKind::Unsupported, "update", message))
    }

    /// Always fails, as [`correct_fact`](Self::correct_fact).
    ///
    /// # Errors
    /// `Unsupported`.
    pub async fn edited_fact(&self, _record: &Record, _text: &str) -> Result<Option<Record>> {
        let message = "this build cannot edit facts; enable the feature `enrichment`";
        Err(Error::new(ErrorKind::Unsupported, "review", message))
    }
}
