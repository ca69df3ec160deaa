//! Records as of a time, changes, retractions, branches and tombstones.

use memory_engine_core::{Page, Record, RecordId, Result, ScanQuery, Scope, Timestamp};
use memory_engine_indexing::verb;
use memory_engine_recall::{create_fork, fork_of};
use tracing::{Span, field::Empty};

pub use memory_engine_core::{
    BlockReason, Tombstone,
    history::{Edit, FormerState},
};
pub use memory_engine_curation::{Retraction, Rewind};
pub use memory_engine_recall::{Fork, Inherits};

use crate::{engine::MemoryEngine, verbs::read::note_page};

/// The history of the memories: records as of a time, branches of a conversation, and retractions, which can be
/// restored. [`MemoryEngine::history`] returns it.
///
/// ```
/// use memory_engine::{MemoryEngine, Scope, Turn, history::Rewind};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let memory = MemoryEngine::builder().in_memory().build().await?;
/// let history = memory.history();
/// let story = Scope::user("lin")?.with_session("story")?;
/// for (n, text) in [(1, "桥还在"), (2, "桥烧着了"), (3, "桥塌了")] {
///     memory.remember(&story, Turn::assistant(text).with_sequence(n)).await?;
/// }
///
/// history.rewind(&story, Rewind::Last(1)).await?;
/// let retraction = history.rewind(&story, Rewind::To(1)).await?;
/// assert_eq!(memory.recall(&story, "桥").await?.hits.len(), 1);
/// assert_eq!(history.restore(&story, retraction.id).await?, 1); // undone
/// assert_eq!(memory.recall(&story, "桥").await?.hits.len(), 2);
///
/// let wrong = memory.remember(&story, "It was a ferry").await?;
/// let retraction = history.retract(&story, &[wrong], "a mistake").await?;
/// assert_eq!(history.retractions(&story, 9).await?[0].reason, retraction.reason);
/// # Ok::<(), memory_engine::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct History {
    pub(crate) engine: MemoryEngine,
}

/// The memories as they were at a time. [`History::as_of`] returns it. [`Record::as_of`] defines what is visible at a
/// time: the text, the state and the validity of the time, and nothing that was recorded later.
#[derive(Debug, Clone)]
pub struct Snapshot {
    engine: MemoryEngine,
    time: Timestamp,
}

/// Records of another time, and their origin.
impl History {
    /// Returns the memories as they were at a time.
    ///
    /// ```
    /// use std::{sync::Arc, time::Duration};
    /// use memory_engine::{MemoryEngine, ScanQuery, Scope, Timestamp, testing::ManualClock};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let clock = Arc::new(ManualClock::new("2026-03-01T09:00:00Z".parse()?));
    /// let memory = MemoryEngine::builder().in_memory().clock(clock.clone()).build().await?;
    /// let lin = Scope::user("lin")?;
    /// let key = memory.remember(&lin, "The spare key is under the mat").await?;
    /// clock.advance(Duration::from_secs(24 * 60 * 60));
    /// memory.update(&lin, key, "The spare key is with Mo").await?;
    /// memory.remember(&lin, "Mo moved to Porto").await?;
    ///
    /// let noon: Timestamp = "2026-03-01T12:00:00Z".parse()?;
    /// let page = memory.history().as_of(noon).scan(&lin, &ScanQuery::oldest(10)).await?;
    /// let texts: Vec<&str> = page.records.iter().map(|record| record.text.as_str()).collect();
    /// assert_eq!(texts, ["The spare key is under the mat"]);
    /// # Ok::<(), memory_engine::Error>(()) }).unwrap();
    /// ```
    pub fn as_of(&self, time: impl Into<Timestamp>) -> Snapshot {
        Snapshot { engine: self.engine.clone(), time: time.into() }
    }

    /// Returns the records within `scope` that were derived from these, directly or through others, in any state and
    /// ordered by id: for example the facts and summaries that were made of some turns. Expired records are left out.
    ///
    /// ```
    /// use memory_engine::{EnrichmentOptions, MemoryEngine, Scope};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let memory = MemoryEngine::builder().in_memory().enrichment(EnrichmentOptions::rules()?).build().await?;
    /// let lin = Scope::user("lin")?;
    /// let turn = memory.remember(&lin, "I'm allergic to seafood.").await?;
    /// memory.drain(&lin, |_| ()).await?;
    ///
    /// let derived = memory.history().derived(&lin, &[turn]).await?;
    /// assert!(derived.iter().any(|record| record.kind == memory_engine::Kind::FACT));
    /// # Ok::<(), memory_engine::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// The store's error.
    pub async fn derived(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Record>> {
        let note = |span: &Span, found: &Vec<Record>| _ = span.record("records", found.len());
        let work = async {
            let now = self.engine.settings().clock().now();
            let mut derived = self.engine.indexed_store().get_derived(scope, ids).await?;
            derived.retain(|record| !record.is_expired(now));
            Ok(derived)
        };
        verb!("derived", scope, { ids = ids.len(), records = Empty }, work, note)
    }
}

/// Branches of a conversation.
impl History {
    /// Returns a page of records as a branch sees them; for any other scope the same as [`MemoryEngine::scan`].
    ///
    /// # Errors
    /// As [`MemoryEngine::scan`].
    pub async fn timeline(&self, scope: &Scope, query: &ScanQuery) -> Result<Page> {
        self.engine.recall_pipeline().timeline(scope, query).await
    }

    /// Creates a branch of a conversation. `scope` names the session and the new branch.
    ///
    /// From then on [`recall`](MemoryEngine::recall), [`timeline`](Self::timeline) and the injection on that branch
    /// include the records that [`Fork::inherits`] selects. `get`, `scan` and `forget` use only the records of the
    /// branch itself.
    ///
    /// # Errors
    /// `InvalidInput` if `scope` names no user, session or branch, or the branch would be its own ancestor; `Conflict`
    /// if the branch has a fork already, or was deleted.
    pub async fn fork(&self, scope: &Scope, fork: Fork) -> Result<()> {
        verb!("fork", scope, {}, self.engine.acting(create_fork(self.engine.indexed_store(), scope, fork)))
    }

    /// Returns the fork that began the branch of `scope`, if there was one.
    ///
    /// # Errors
    /// The store's error; `Corrupt` if the record of the fork cannot be read.
    pub async fn fork_of(&self, scope: &Scope) -> Result<Option<Fork>> {
        verb!("fork_of", scope, {}, fork_of(self.engine.indexed_store(), scope))
    }
}

/// Retractions.
impl History {
    /// Retracts the end of a conversation and everything derived from it. None of it is recalled once this returns.
    /// `scope` names the session and the branch of the conversation, if it has them. If there is nothing to retract,
    /// the retraction is empty.
    ///
    /// # Errors
    /// The store's; `Conflict` if others keep writing to the same records.
    pub async fn rewind(&self, scope: &Scope, rewind: Rewind) -> Result<Retraction> {
        let work = self.engine.acting(self.engine.curation().rewind(scope, rewind));
        verb!("rewind", scope, { records = Empty }, work, note_retraction)
    }

    /// Retracts wrong records within `scope`, and everything derived from them. They stay stored, as
    /// [`State::Revoked`](crate::State::Revoked), and are no longer recalled. Records that do not exist or are
    /// retracted already are skipped. A pending record is [rejected](crate::review::Review::reject). The reason is
    /// deleted as soon as the text of one of these records changes or the record is forgotten, except for derived
    /// summaries and profiles, which the engine derives again.
    ///
    /// # Errors
    /// The store's; `Conflict` if others keep writing to the same records.
    pub async fn retract(&self, scope: &Scope, ids: &[RecordId], reason: &str) -> Result<Retraction> {
        let work = self.engine.acting(self.engine.curation().retract(scope, ids, reason));
        verb!("retract", scope, { ids = ids.len(), records = Empty }, work, note_retraction)
    }

    /// Restores the records of a retraction that have not changed since. Returns their number. Summaries and profiles
    /// that the engine writes are not restored but written again.
    ///
    /// # Errors
    /// `NotFound` if there is no such retraction within `scope`; the store's error.
    pub async fn restore(&self, scope: &Scope, retraction: RecordId) -> Result<u64> {
        let note = |span: &Span, records: &u64| _ = span.record("records", *records);
        let work = self.engine.acting(self.engine.curation().restore(scope, retraction));
        verb!("restore", scope, { records = Empty }, work, note)
    }

    /// Returns at most `limit` retractions within `scope` that can be restored, the latest first.
    ///
    /// # Errors
    /// The store's error.
    pub async fn retractions(&self, scope: &Scope, limit: usize) -> Result<Vec<Retraction>> {
        verb!("retractions", scope, { limit = limit }, self.engine.curation().retractions(scope, limit))
    }
}

impl Snapshot {
    /// Returns the records with these ids, in the same order; `None` for an id that is not within `scope`, or was not a
    /// current memory then.
    ///
    /// # Errors
    /// The store's error.
    pub async fn get_all(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<Record>>> {
        let note =
            |span: &Span, found: &Vec<Option<Record>>| _ = span.record("records", found.iter().flatten().count());
        let work = self.engine.indexed_store().get_as_of(scope, ids, self.time);
        verb!("get_as_of", scope, { ids = ids.len(), records = Empty }, work, note)
    }

    /// Returns a page of the memories that were current then. The filter of the query applies to the records as they
    /// were. A record that was deleted since is never returned.
    ///
    /// # Errors
    /// As [`MemoryEngine::scan`].
    pub async fn scan(&self, scope: &Scope, query: &ScanQuery) -> Result<Page> {
        let work = self.engine.indexed_store().scan_as_of(scope, query, self.time);
        verb!("scan_as_of", scope, { limit = query.limit, records = Empty }, work, note_page)
    }
}

pub(crate) fn note_retraction(span: &Span, retraction: &Retraction) {
    span.record("records", retraction.records.len());
}
