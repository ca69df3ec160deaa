//! Correcting a memory.

use memory_engine_core::{
    Error, ErrorKind, Kind, Outcome, PutMode, Record, RecordId, Result, Scope, State, Write,
    history::Edit,
    retry::{WRITE_ATTEMPTS, retry_on_conflict},
};

use crate::{engine::MemoryEngine, verbs::verb::verb};

/// Maximum number of former texts kept with a record.
pub(crate) const MAX_EDITS: usize = 50;
/// Maximum size of the former texts of a record, in bytes of JSON. The oldest are dropped first.
pub(crate) const EDITS_MAX_BYTES: usize = Record::MAX_METADATA_BYTES / 2;

impl MemoryEngine {
    /// Corrects a memory within `scope`. Returns the id of the record that states the new text.
    ///
    /// - A **fact** is superseded by a new fact with the same subject and attribute, which holds from now on. The
    ///   correction is stored as a note, which is the evidence of the new fact. `text` is the new value ("Lisbon") or
    ///   a sentence ("I live in Lisbon"). The old fact stays in the [history](crate::facts::FactQuery::history).
    /// - **Any other record**, and a fact without an attribute, gets the new text in place and keeps its id. Records
    ///   that were derived from the old text are removed and derived again.
    ///   [`Edit::all_of`](crate::history::Edit::all_of) returns the former texts; [`forget`](Self::forget) removes
    ///   them with the record.
    /// - A **pending** record is [accepted](crate::review::Review::accept_edited) with the new text.
    ///
    /// ```
    /// use memory_engine::{MemoryEngine, Scope, history::Edit};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let memory = MemoryEngine::builder().in_memory().build().await?;
    /// let lin = Scope::user("lin")?;
    /// let id = memory.remember(&lin, "The spare key is under the mat").await?;
    /// memory.update(&lin, id, "The spare key is with Mo").await?;
    ///
    /// let record = memory.get(&lin, id).await?.unwrap();
    /// assert_eq!(record.text, "The spare key is with Mo");
    /// assert_eq!(Edit::all_of(&record)[0].text, "The spare key is under the mat");
    /// # Ok::<(), memory_engine::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// `NotFound` if there is no such record within `scope`; `InvalidInput` for an empty text; `Conflict` if others
    /// keep changing the record, or if a part of this text was redacted in it; `Unsupported` for a fact if the feature
    /// `enrichment` is off; the store's error.
    pub async fn update(&self, scope: &Scope, id: RecordId, text: impl Into<String>) -> Result<RecordId> {
        verb!("update", scope, {}, self.acting(self.update_text(scope, id, text.into())))
    }

    async fn update_text(&self, scope: &Scope, id: RecordId, text: String) -> Result<RecordId> {
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
            return self.accept_with_text(scope, id, text.to_owned()).await;
        }
        if record.text == text {
            return Ok(id);
        }
        if record.kind == Kind::FACT
            && let Some(new) = self.enrichment().correct_fact(&record, text).await?
        {
            return Ok(new);
        }
        Edit::push_current_text(&mut record, self.settings().clock().now(), MAX_EDITS, EDITS_MAX_BYTES);
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
