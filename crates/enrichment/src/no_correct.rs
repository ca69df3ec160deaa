//! A build without the feature `enrichment`: facts cannot be corrected.

use memory_engine_core::{Error, ErrorKind, Record, RecordId, Result};

use crate::enrichment::Enrichment;

impl Enrichment {
    /// Refuses the correction: the metadata of a fact would contradict its new text.
    ///
    /// # Errors
    /// `Unsupported`.
    pub async fn correct_fact(&self, _record: &Record, _text: &str) -> Result<Option<RecordId>> {
        let message = "facts are corrected by the feature `enrichment`, which is off; switch it on";
        Err(Error::new(ErrorKind::Unsupported, "update", message))
    }
}
