//! Correcting a memory.

use memory_engine_core::{
    Error, ErrorKind, Kind, Outcome, PutMode, Record, RecordId, Result, Scope, State, Timestamp, Write,
    history::Edit,
    retry::{WRITE_ATTEMPTS, retry_on_conflict},
};

use crate::curation::Curation;

/// Maximum number of former texts kept with a record.
const MAX_EDITS: usize = 50;
/// Maximum size of the former texts of a record, in bytes of JSON. The oldest are dropped first.
const EDITS_MAX_BYTES: usize = Record::MAX_METADATA_BYTES / 2;

impl Curation {
    /// Corrects a memory within `scope`. Returns the id of the record that states the new text: a new one for a fact.
    ///
    /// # Errors
    /// `NotFound` if there is no such record within `scope`; `InvalidInput` for an empty text; `Conflict` if others
    /// keep changing the record, or if a part of this text was redacted in it; `Unsupported` for a fact if the feature
    /// `enrichment` is off; the store's error.
    pub async fn update(&self, scope: &Scope, id: RecordId, text: String) -> Result<RecordId> {
        if text.trim().is_empty() {
            return Err(Error::invalid("update", "the new text is empty; `forget` removes a memory"));
        }
        let text = self.indexed_store().masked_text(scope, text).await?;
        retry_on_conflict(WRITE_ATTEMPTS, || self.try_update(scope, id, &text)).await
    }

    async fn try_update(&self, scope: &Scope, id: RecordId, text: &str) -> Result<RecordId> {
        let Some(mut record) = self.indexed_store().get_one_unexpired(scope, id).await? else {
            return Err(Error::new(ErrorKind::NotFound, "update", format!("there is no record {id} in this scope")));
        };
        if record.state == State::Pending {
            return self.accept_edited(scope, id, text.to_owned()).await;
        }
        if record.text == text {
            return Ok(id);
        }
        if record.kind == Kind::FACT
            && let Some(new) = self.enrichment().correct_fact(&record, text).await?
        {
            return Ok(new);
        }
        push_edit(&mut record, self.clock().now());
        text.clone_into(&mut record.text);
        let mode = PutMode::Update { revision: record.revision };
        let jobs = self.jobs_for(&record);
        let written = self.write(scope, vec![Write { jobs, ..Write::new(record, mode) }]).await?;
        if written.iter().any(|written| written.outcome == Outcome::Unchanged) {
            let message = format!("a part of this text was redacted in record {id}, and stays away");
            return Err(Error::new(ErrorKind::Conflict, "update", message));
        }
        Ok(id)
    }
}

/// Adds the present text of a record to its former texts.
pub(crate) fn push_edit(record: &mut Record, now: Timestamp) {
    Edit::push_current_text(record, now, MAX_EDITS, EDITS_MAX_BYTES);
}
