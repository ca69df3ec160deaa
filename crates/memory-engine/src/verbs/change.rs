//! Verbs that change and delete records.

use memory_engine_core::{RecordId, Result, Scope};
use memory_engine_curation::{Forget, ForgetReport, RecordPatch};
use memory_engine_indexing::verb;

use crate::engine::MemoryEngine;

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
        verb!("update", scope, {}, self.acting(self.curation().update(scope, id, text.into())))
    }

    /// Changes the pin, the importance or the expiry of records within `scope`. Records that are derived from them,
    /// such as chunks and facts, expire with the earliest of their sources. Returns the number of changed records,
    /// without derived ones.
    ///
    /// A pinned record does not expire, is not superseded by extracted facts, is not moved behind better hits as a
    /// near-duplicate, and is part of every context.
    ///
    /// ```
    /// use memory_engine::{MemoryEngine, Scope, retention::RecordPatch};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let memory = MemoryEngine::builder().in_memory().build().await?;
    /// let lin = Scope::user("lin")?;
    /// let allergy = memory.remember(&lin, "I am allergic to peanuts").await?;
    /// memory.patch(&lin, &[allergy], RecordPatch::default().pinned(true).importance(0.9)).await?;
    ///
    /// let context = memory.context(&lin, "Which film shall we watch tonight?").await?;
    /// assert!(context.text.contains("allergic to peanuts"));
    /// # Ok::<(), memory_engine::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// `InvalidInput` for an empty patch or an importance that is not between 0 and 1; `NotFound` if one of the records
    /// does not exist within `scope`: nothing is changed then; `Conflict` if others keep changing the records; the
    /// store's error.
    pub async fn patch(&self, scope: &Scope, ids: &[RecordId], patch: RecordPatch) -> Result<u64> {
        verb!("patch", scope, { ids = ids.len() }, self.acting(self.curation().patch(scope, ids, patch)))
    }

    /// Forgets records within `scope`. Each record is removed with its index entries in one transaction, and leaves a
    /// tombstone, so that no import brings it back. More than 500 records are removed in several transactions. If one
    /// of them fails, those before it are kept, and the call can be repeated.
    ///
    /// While [`Forget::Everything`] takes several transactions, an entry of the kind
    /// [`Kind::FORGETTING`](memory_engine_core::Kind::FORGETTING) exists at `scope`. If the process ends before, the
    /// health check reports it, until the call was repeated.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid filter or a text that is too short; the stores' errors.
    pub async fn forget(&self, scope: &Scope, target: impl Into<Forget>) -> Result<ForgetReport> {
        self.deletion().forget(scope, target).await
    }
}
