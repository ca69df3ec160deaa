//! The review of pending memories: listing, accepting and rejecting them.

use memory_engine_core::{PutMode, Record, RecordId, Result, Scope};
use memory_engine_indexing::{Turn, verb};
use tracing::{Span, field::Empty};

pub use memory_engine_core::{ReviewMode, ReviewPolicy, ReviewSource, review_keys};
pub use memory_engine_curation::{PendingMemory, ReviewEvidence, ReviewPage, ReviewQuery, ReviewReport, StoredRecord};

use crate::{
    engine::MemoryEngine,
    history::{Retraction, note_retraction},
};

/// The review of memories that wait until a person accepts them. [`MemoryEngine::review`] returns it, and
/// [`Builder::review`](crate::Builder::review) sets which memories wait. They are stored, and neither indexed nor
/// recalled.
///
/// ```
/// use memory_engine::{
///     EnrichmentOptions, MemoryEngine, Scope,
///     review::{ReviewMode, ReviewPolicy, ReviewQuery, ReviewSource},
/// };
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let policy = ReviewPolicy::default().with(ReviewSource::RuleFacts, ReviewMode::Review);
/// let builder = MemoryEngine::builder().in_memory().enrichment(EnrichmentOptions::rules()?).review(policy);
/// let memory = builder.build().await?;
/// let lin = Scope::user("lin")?;
/// memory.remember(&lin, "I'm allergic to seafood.").await?;
/// memory.remember(&lin, "I live in Porto.").await?;
/// memory.drain(&lin, |_| ()).await?;
/// assert!(memory.facts(&lin).await?.is_empty());
///
/// let review = memory.review();
/// let page = review.pending(&lin, &ReviewQuery::default()).await?;
/// assert_eq!(page.total, 2);
/// let (allergy, home) = (&page.pending[0], &page.pending[1]);
/// assert_eq!(allergy.evidence[0].text, "I'm allergic to seafood.");
/// review.accept(&lin, &[allergy.record.id]).await?;
/// let rejection = review.reject(&lin, &[home.record.id], "she only visits").await?;
/// assert_eq!(memory.facts(&lin).await?[0].value, "seafood");
///
/// memory.history().restore(&lin, rejection.id).await?; // it is pending again
/// review.accept_edited(&lin, home.record.id, "Lisbon").await?;
/// assert_eq!(memory.facts(&lin).attribute("home").await?[0].value, "Lisbon");
/// # Ok::<(), memory_engine::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct Review {
    pub(crate) engine: MemoryEngine,
}

/// Decisions of a reviewer.
impl Review {
    /// Returns a page of the records within `scope` that wait for a review, oldest first.
    ///
    /// # Errors
    /// The store's error.
    pub async fn pending(&self, scope: &Scope, query: &ReviewQuery) -> Result<ReviewPage> {
        let note = |span: &Span, page: &ReviewPage| _ = span.record("records", page.pending.len());
        let work = self.engine.acting(self.engine.curation().pending(scope, query));
        verb!("pending_reviews", scope, { limit = query.limit, records = Empty }, work, note)
    }

    /// Accepts pending records within `scope`: they become active and are indexed. A fact supersedes the facts that it
    /// contradicts, or is superseded by a later one; a change of an active record is applied to it. Up to 500 records
    /// are accepted in one transaction. If a later transaction fails, the records of the earlier ones stay accepted;
    /// repeat the call, which skips them.
    ///
    /// # Errors
    /// The store's error; `Conflict` if others keep writing the same records.
    pub async fn accept(&self, scope: &Scope, ids: &[RecordId]) -> Result<ReviewReport> {
        let note = |span: &Span, report: &ReviewReport| _ = span.record("records", report.accepted.len());
        let work = self.engine.acting(self.engine.curation().accept(scope, ids));
        verb!("accept", scope, { ids = ids.len(), records = Empty }, work, note)
    }

    /// Rejects pending records within `scope`. Records that are not pending are skipped. The turns that they were
    /// derived from are not processed again. [`History::restore`](crate::history::History::restore) makes the records
    /// of the returned retraction pending again.
    ///
    /// # Errors
    /// The store's error; `Conflict` if others keep writing the same records.
    pub async fn reject(&self, scope: &Scope, ids: &[RecordId], reason: &str) -> Result<Retraction> {
        let work = self.engine.acting(self.engine.curation().reject(scope, ids, reason));
        verb!("reject", scope, { ids = ids.len(), records = Empty }, work, note_retraction)
    }

    /// Accepts a pending record within `scope` with another text. Returns the id of the record that states it.
    ///
    /// - A **fact** is rejected, and a new fact with the same evidence, subject and attribute becomes active. `text` is
    ///   its value ("Lisbon") or a sentence ("I live in Lisbon"), as for [`MemoryEngine::update`].
    /// - **A change** of an active record is applied to that record with the new text.
    /// - **Any other record** gets the new text in place and keeps its id.
    ///
    /// # Errors
    /// `NotFound` if there is no such record within `scope`; `InvalidInput` for an empty text and for a record that is
    /// not pending; `Conflict` if others keep changing the record, or a text like the new one was forgotten;
    /// `Unsupported` for a fact if the feature `enrichment` is off; the store's error.
    pub async fn accept_edited(&self, scope: &Scope, id: RecordId, text: impl Into<String>) -> Result<RecordId> {
        let work = self.engine.acting(self.engine.curation().accept_edited(scope, id, text.into()));
        verb!("accept_edited", scope, {}, work)
    }
}

/// Records of a source that may be reviewed.
impl Review {
    /// As [`MemoryEngine::remember`], for a statement of this source: if the
    /// [policy](crate::Settings::review_policy) reviews the source, the record is pending.
    ///
    /// # Errors
    /// As [`MemoryEngine::remember`]; `Unauthorized` if the policy rejects the source.
    pub async fn remember_from(&self, source: ReviewSource, scope: &Scope, turn: impl Into<Turn>) -> Result<RecordId> {
        let settings = self.engine.settings();
        if settings.review_policy().mode(source) == ReviewMode::Automatic {
            return self.engine.remember(scope, turn).await;
        }
        let record = turn.into().into_record(scope, settings.clock());
        let work = self.engine.acting(self.engine.curation().remember_reviewed(source, scope, record));
        verb!("remember_from", scope, {}, work)
    }

    /// As [`MemoryEngine::store`], for records of this source, such as an import. If the
    /// [policy](crate::Settings::review_policy) reviews the source, new and changed records are pending, and those that
    /// a person accepted, rejected or edited stay so. A change that a [tool](ReviewSource::Tools) makes to an active
    /// record waits in a record of its own, whose id is in the result: the active one stays as it is until then, and
    /// gets the new text, metadata and time when a person accepts the change.
    ///
    /// # Errors
    /// As [`MemoryEngine::store`]; `Unauthorized` if the policy rejects the source, and if a person has rejected or
    /// edited the same text of a tool.
    pub async fn store_from(
        &self,
        source: ReviewSource,
        scope: &Scope,
        records: Vec<Record>,
        mode: PutMode,
    ) -> Result<Vec<StoredRecord>> {
        let count = records.len();
        let work = self.engine.acting(self.engine.curation().store_from(source, scope, records, mode));
        verb!("admin.store_from", scope, { records = count }, work)
    }

    /// Returns an active record as it will be once a person accepts the change of it that waits. `None` if none waits.
    ///
    /// # Errors
    /// The store's error.
    pub async fn waiting_change(&self, current: &Record) -> Result<Option<Record>> {
        self.engine.curation().waiting_change(current).await
    }
}
