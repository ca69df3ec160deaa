//! Verbs that delete records.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use memory_engine_core::{
    DeletionReport, Error, ErrorKind, Field, Filter, Kind, Order, PutMode, Record, RecordId, RemovalCounts, Result,
    ScanQuery, Scope, Tombstone, Trust, Write,
};
use memory_engine_screening::ValuePattern;
use serde::{Deserialize, Serialize};

#[cfg(feature = "certificates")]
use crate::certificate::trace::DeletionTrace;
use crate::{
    curation::{Curation, PAGE_ROWS},
    deletion::{
        forget_text::ForgetText,
        linked::{LinkedRecords, LinkedTurns},
    },
};

/// Maximum number of scans for a text that is kept out, until one finds nothing.
const KEEP_OUT_MAX_PASSES: usize = 10;

/// The records to forget within a scope. In JSON for example `{"ids": [...]}`, `{"matching": FILTER}` or
/// `"everything"`.
///
/// ```
/// use memory_engine::{Field, Filter, Forget, MemoryEngine, Scope};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let memory = MemoryEngine::builder().in_memory().build().await?;
/// let monday = Scope::user("lin")?.with_session("monday")?;
/// let id = memory.remember(&monday, "a secret").await?;
/// memory.remember(&monday, "another one").await?;
///
/// assert_eq!(memory.forget(&monday, id).await?.records(), 1);
/// let those = Filter::eq(Field::Session, "monday");
/// assert_eq!(memory.forget(&monday, Forget::Matching(those)).await?.records(), 1);
/// assert_eq!(memory.forget(&Scope::user("lin")?, Forget::Everything).await?.records(), 0);
/// assert!(memory.recall(&monday, "secret").await?.hits.is_empty());
/// # Ok::<(), memory_engine::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Forget {
    /// The records with these ids. With a fact, the facts that confirm it are deleted, and the turns that state it are
    /// [retracted](LinkedTurns::Retract).
    Ids(Vec<RecordId>),
    /// As [`Ids`](Self::Ids), with another treatment of the turns. In JSON `{"linked": {"ids": [...], "turns":
    /// "delete"}}`.
    Linked {
        /// The ids.
        ids: Vec<RecordId>,
        /// The treatment of the turns that state a deleted fact.
        turns: LinkedTurns,
    },
    /// The records that match, and nothing that is linked to them.
    Matching(Filter),
    /// The records that contain a text, in any state, or the text in them. In JSON `{"text": {"text": "555 0134",
    /// "redact": true}}`.
    Text(ForgetText),
    /// Everything within the scope; for a whole user or tenant also the synonyms and the decisions about them. The
    /// current scene of a conversation is in a `SceneDetector`, outside the engine:
    /// `forget` it there.
    Everything,
}

impl From<RecordId> for Forget {
    fn from(id: RecordId) -> Self {
        Self::Ids(vec![id])
    }
}

impl From<Vec<RecordId>> for Forget {
    fn from(ids: Vec<RecordId>) -> Self {
        Self::Ids(ids)
    }
}

/// The number of rows removed from each store.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct ForgetReport {
    /// Records, and what was derived from them.
    #[serde(flatten)]
    pub removed: RemovalCounts,
    /// Groups of synonyms, and decisions about pairs of words.
    pub synonyms: u64,
    /// Records in which a text was replaced.
    pub redacted: u64,
    /// The entry of the text that is kept out from now on; `None` if there is none.
    pub kept_out: Option<RecordId>,
    /// Turns that state a deleted fact, and what was derived from them except facts: no longer found, and restorable.
    pub retracted: u64,
}

impl ForgetReport {
    /// Number of records, of any kind.
    pub fn records(&self) -> u64 {
        self.removed.total()
    }
}

/// A function that is called after each transaction with the number of records that were deleted or
/// redacted so far.
pub type ProgressFn = Arc<dyn Fn(u64) + Send + Sync>;

/// The scopes of the people whose facts or profiles were derived from forgotten records, the progress, and the trace of
/// a certified deletion.
#[derive(Default)]
pub(crate) struct Affected {
    facts: BTreeSet<Scope>,
    profiles: BTreeSet<Scope>,
    /// Number of records that were deleted or redacted.
    done: u64,
    pub(crate) redacted: u64,
    kept_out: Option<RecordId>,
    on_progress: Option<ProgressFn>,
    /// Collects the deleted records, if the deletion is certified.
    #[cfg(feature = "certificates")]
    pub(crate) trace: Option<DeletionTrace>,
}

impl Affected {
    pub(crate) fn reporting(on_progress: Option<ProgressFn>) -> Self {
        Self { on_progress, ..Self::default() }
    }

    pub(crate) fn add_progress(&mut self, count: u64) {
        self.done += count;
        if let Some(on_progress) = &self.on_progress {
            on_progress(self.done);
        }
    }
}

fn is_mark() -> Filter {
    Filter::eq(Field::Kind, Kind::FORGETTING.as_str())
}

/// Returns a filter for everything except the marks of deletions, and the values that are kept out as tombstones keep
/// deleted records out.
pub(crate) fn everything() -> Filter {
    let is_kept_out = Filter::eq(Field::Kind, Kind::KEPT_OUT.as_str());
    Filter::Not(Box::new(is_mark())).and(Filter::Not(Box::new(is_kept_out)))
}

impl Curation {
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
    pub async fn forget(&self, scope: &Scope, target: Forget, on_progress: Option<ProgressFn>) -> Result<ForgetReport> {
        self.forget_records(scope, target, &mut Affected::reporting(on_progress)).await
    }

    /// Forgets records, and adds them to `trace` before.
    #[cfg(feature = "certificates")]
    pub(crate) async fn forget_traced(
        &self,
        scope: &Scope,
        target: Forget,
        trace: DeletionTrace,
        on_progress: Option<ProgressFn>,
    ) -> Result<(ForgetReport, DeletionTrace)> {
        let mut affected = Affected { trace: Some(trace), ..Affected::reporting(on_progress) };
        let report = self.forget_records(scope, target, &mut affected).await?;
        let missing = || Error::new(ErrorKind::Internal, "forget", "the trace is missing; please report this");
        Ok((report, affected.trace.ok_or_else(missing)?))
    }

    async fn forget_records(&self, scope: &Scope, target: Forget, affected: &mut Affected) -> Result<ForgetReport> {
        let is_everything = target == Forget::Everything;
        let mut retracted = 0;
        let removed = match target {
            Forget::Ids(ids) => self.forget_ids(scope, &ids, LinkedTurns::Retract, affected, &mut retracted).await?,
            Forget::Linked { ids, turns } => self.forget_ids(scope, &ids, turns, affected, &mut retracted).await?,
            Forget::Matching(filter) => self.forget_matching(scope, filter, affected).await?,
            Forget::Text(text) => self.forget_text(scope, &text, affected).await?,
            Forget::Everything => {
                self.mark_unfinished(scope).await?;
                self.forget_matching(scope, everything(), affected).await?
            }
        };
        // After the last deletion, because a fact holds again once the fact that superseded it is deleted.
        self.repair(affected).await?;
        let Affected { redacted, kept_out, .. } = *affected;
        let mut report = ForgetReport { removed, redacted, kept_out, retracted, synonyms: 0 };
        if is_everything && *scope == scope.namespace() {
            report.removed += self.forget_unreachable(scope, affected).await?;
            report.synonyms = self.synonyms().store().clear(scope).await?;
            self.synonyms().forget(scope);
        }
        if is_everything {
            self.remove_marks(scope).await?;
        }
        Ok(report)
    }

    /// Stores that the deletion of everything within `scope` has begun, if it takes more than one transaction.
    async fn mark_unfinished(&self, scope: &Scope) -> Result<()> {
        let first_page = ScanQuery::oldest(PAGE_ROWS).with_filter(everything());
        if self.indexed_store().scan(scope, &first_page).await?.next.is_none() {
            return Ok(());
        }
        let clock = self.clock();
        let mut mark = Record::new(scope.clone(), Kind::FORGETTING, "everything here is being deleted", clock);
        mark.trust = Trust::Tool;
        self.record_store().put(scope, vec![Write::new(mark, PutMode::Create)]).await.map(drop)
    }

    /// Removes the marks of this deletion, and of earlier ones that were interrupted.
    async fn remove_marks(&self, scope: &Scope) -> Result<()> {
        let marks = self.indexed_store().scan_all(scope, is_mark(), Order::OldestFirst).await?;
        let ids: Vec<RecordId> = marks.iter().map(|mark| mark.id).collect();
        if !ids.is_empty() {
            self.record_store().delete(scope, &ids).await?;
        }
        Ok(())
    }

    /// Imports tombstones of another store: removes the records that they name and blocks them from now on. Returns the
    /// number of new tombstones.
    ///
    /// # Errors
    /// The stores' errors.
    pub async fn import_tombstones(&self, scope: &Scope, tombstones: &[Tombstone]) -> Result<u64> {
        let mut ids_by_user: BTreeMap<Scope, Vec<RecordId>> = BTreeMap::new();
        for tombstone in tombstones {
            ids_by_user.entry(tombstone.scope.namespace()).or_default().push(tombstone.id);
        }
        let mut affected = Affected::default();
        for (user, ids) in &mut ids_by_user {
            self.add_affected(user, ids, &mut affected).await?;
            ids.extend(self.record_store().derived(user, ids).await?);
        }
        let new_count = self.record_store().import_tombstones(scope, tombstones).await?;
        for (user, ids) in &ids_by_user {
            self.indexed_store().unindex(user, ids).await?;
        }
        self.repair(&affected).await?;
        self.indexed_store().wake();
        Ok(new_count)
    }

    /// Deletes records by id. What belongs to deleted facts goes first, so that the call can be repeated.
    async fn forget_ids(
        &self,
        scope: &Scope,
        ids: &[RecordId],
        linked_turns: LinkedTurns,
        affected: &mut Affected,
        retracted: &mut u64,
    ) -> Result<RemovalCounts> {
        let mut removed = RemovalCounts::default();
        for page in ids.chunks(PAGE_ROWS) {
            for (user, LinkedRecords { mut confirming, turns }) in self.linked_records(scope, page).await? {
                match linked_turns {
                    LinkedTurns::Delete => confirming.extend(turns),
                    LinkedTurns::Retract => {
                        *retracted += self.retract_fact_sources(&user, &turns).await?.records.len() as u64;
                    }
                    LinkedTurns::Keep => {}
                }
                for linked_page in confirming.chunks(PAGE_ROWS) {
                    removed += self.forget_page(&user, linked_page, affected).await?;
                }
            }
            removed += self.forget_page(scope, page, affected).await?;
        }
        Ok(removed)
    }

    async fn forget_matching(&self, scope: &Scope, filter: Filter, affected: &mut Affected) -> Result<RemovalCounts> {
        let mut query = ScanQuery::oldest(PAGE_ROWS).with_filter(filter);
        let mut removed = RemovalCounts::default();
        loop {
            let page = self.indexed_store().scan(scope, &query).await?;
            let damaged = page.damaged.iter().map(|record| record.id);
            let ids: Vec<RecordId> = page.records.iter().map(|record| record.id).chain(damaged).collect();
            if ids.is_empty() {
                return Ok(removed);
            }
            let removed_now = self.forget_page(scope, &ids, affected).await?;
            if removed_now.total() == 0 {
                // A record with a damaged id is not found by it.
                query.after = page.next;
                if query.after.is_none() {
                    return Ok(removed);
                }
            }
            removed += removed_now;
        }
    }

    /// Deletes the records that contain a text, or replaces it in them. The filters of the stores do not compare texts,
    /// so that every record is read. The call can be repeated: it finds the records that remain.
    async fn forget_text(&self, scope: &Scope, text: &ForgetText, affected: &mut Affected) -> Result<RemovalCounts> {
        let pattern = text.pattern()?;
        if !text.keep_out {
            return self.forget_text_once(scope, text, &pattern, affected).await;
        }
        // First, so that what is written meanwhile is masked or found.
        affected.kept_out = Some(self.keep_out(scope, &pattern).await?);
        let mut removed = RemovalCounts::default();
        // A write that was screened before may be committed at a position that the scan has passed.
        for _ in 0..KEEP_OUT_MAX_PASSES {
            let done_before = affected.done;
            removed += self.forget_text_once(scope, text, &pattern, affected).await?;
            if affected.done == done_before {
                return Ok(removed);
            }
        }
        let message = "the text is kept out, but records with it are still being written; repeat the call";
        Err(Error::new(ErrorKind::Conflict, "forget", message))
    }

    /// Reads every record once, and deletes those that contain a text, or replaces it in them.
    async fn forget_text_once(
        &self,
        scope: &Scope,
        text: &ForgetText,
        pattern: &ValuePattern,
        affected: &mut Affected,
    ) -> Result<RemovalCounts> {
        let mut removed = RemovalCounts::default();
        let mut pages = self.indexed_store().pages(scope, ScanQuery::oldest(PAGE_ROWS));
        while let Some(page) = pages.next().await? {
            let mut ids_by_user: BTreeMap<Scope, Vec<RecordId>> = BTreeMap::new();
            for record in page.records.iter().filter(|record| pattern.is_in(record)) {
                ids_by_user.entry(record.scope.namespace()).or_default().push(record.id);
            }
            for (user, ids) in ids_by_user {
                let ids = match text.redact {
                    true => self.redact_page(&user, &ids, pattern, affected).await?,
                    false => ids,
                };
                if !ids.is_empty() {
                    removed += self.forget_page(&user, &ids, affected).await?;
                }
            }
        }
        Ok(removed)
    }

    /// Deletes the records of the users of `scope` whose address or id is damaged.
    #[cfg_attr(not(feature = "certificates"), allow(unused_variables, reason = "only a certificate lists the ids"))]
    async fn forget_unreachable(&self, scope: &Scope, affected: &mut Affected) -> Result<RemovalCounts> {
        let DeletionReport { ids, mut removed } = self.record_store().delete_unreachable(scope).await?;
        #[cfg(feature = "certificates")]
        if let Some(trace) = &mut affected.trace {
            trace.add_deleted(&ids);
        }
        if !ids.is_empty() {
            removed += self.indexed_store().unindex(scope, &ids).await?;
        }
        Ok(removed)
    }

    async fn forget_page(&self, scope: &Scope, ids: &[RecordId], affected: &mut Affected) -> Result<RemovalCounts> {
        self.add_affected(scope, ids, affected).await?;
        #[cfg(feature = "certificates")]
        if let Some(trace) = &mut affected.trace {
            trace.add_page(self.record_store().as_ref(), scope, ids).await?;
        }
        let DeletionReport { ids: deleted, mut removed } = self.record_store().delete(scope, ids).await?;
        affected.add_progress(removed.total());
        #[cfg(feature = "certificates")]
        if let Some(trace) = &mut affected.trace {
            trace.add_deleted(&deleted);
        }
        // All ids, not only the deleted ones: an earlier call may have failed after deleting the records.
        removed += self.indexed_store().unindex(scope, ids).await?;
        // Records that were derived from them may be outside this scope, in the memory of the same user.
        let derived: Vec<RecordId> = deleted.iter().filter(|id| !ids.contains(id)).copied().collect();
        if !derived.is_empty() {
            removed += self.indexed_store().unindex(&scope.namespace(), &derived).await?;
            self.indexed_store().wake();
        }
        Ok(removed)
    }

    /// Adds the people whose facts or profiles are derived from these records.
    async fn add_affected(&self, scope: &Scope, ids: &[RecordId], affected: &mut Affected) -> Result<()> {
        affected.facts.extend(self.enrichment().turns().people_with_facts(scope, ids).await?);
        affected.profiles.extend(self.enrichment().turns().people_with_profiles(scope, ids).await?);
        Ok(())
    }

    /// Recomputes the remaining facts and profiles without the forgotten records.
    async fn repair(&self, affected: &Affected) -> Result<()> {
        for person in &affected.facts {
            self.enrichment().turns().reconcile_facts(person).await?;
        }
        self.enrichment().turns().renew_profiles(&affected.profiles).await
    }
}
