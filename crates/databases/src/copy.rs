//! Copies one store into another, user by user.

use std::{collections::BTreeMap, fmt, sync::Arc};

use memory_engine_core::{
    Error, Outcome, PutMode, Record, RecordId, Result, ScanQuery, Scope, WriteResult, audit::Actor,
};
use memory_engine_curation::Curation;
use memory_engine_synonyms::PairVerdict;
use serde::Serialize;

use crate::transfer::{PAGE_RECORDS, TransferEnd, importing, store_accepted};

/// Maximum number of refused records that are reported one by one.
const MAX_REPORTED_RECORDS: u64 = 20;

/// The result of a copy.
#[derive(Debug, Default, Clone, Serialize)]
#[non_exhaustive]
pub struct CopyReport {
    /// Number of tenants and users that were processed.
    pub namespaces: u64,
    /// New records.
    pub added: u64,
    /// Records that were replaced.
    pub updated: u64,
    /// Records that existed already.
    pub unchanged: u64,
    /// Of these, records whose content differs in the target.
    pub different: u64,
    /// Records that were forgotten in the target, and are not copied.
    pub forgotten: u64,
    /// Records that the target refuses.
    pub refused: u64,
    /// New tombstones.
    pub tombstones: u64,
    /// Tombstones that existed already, or whose record the target has in another scope.
    pub tombstones_there: u64,
    /// Groups of synonyms that were written.
    pub synonyms: u64,
    /// Groups that differ in the target, and were not changed.
    pub synonyms_different: u64,
    /// Decisions about suggested synonyms that were written.
    pub verdicts: u64,
    /// Records that still wait for their vectors. The copier leaves it at 0; a caller that drains the target sets it.
    pub waiting: u64,
    /// The reasons of the first refused records.
    pub errors: Vec<String>,
}

impl CopyReport {
    /// Returns the number of processed records and tombstones.
    pub fn seen(&self) -> u64 {
        let records = self.added + self.updated + self.unchanged + self.forgotten + self.refused;
        records + self.tombstones + self.tombstones_there
    }

    fn count_refused(&mut self, record: &Record, error: &Error) {
        self.refused += 1;
        if self.refused <= MAX_REPORTED_RECORDS {
            self.errors.push(format!("record {} at {} was refused: {error}", record.id, record.scope));
        }
    }

    fn count(&mut self, written: &WriteResult) {
        *match written.outcome {
            Outcome::Created => &mut self.added,
            Outcome::Updated => &mut self.updated,
            Outcome::Unchanged | Outcome::Counted => &mut self.unchanged,
            Outcome::Blocked(_) => &mut self.forgotten,
            _ => return,
        } += 1;
    }
}

/// Copies records, tombstones and synonyms from one store into another, user by user.
///
/// ```
/// use memory_engine::{MemoryEngine, Scope, transfer::Copier};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let source = MemoryEngine::builder().in_memory().build().await?;
/// let target = MemoryEngine::builder().in_memory().build().await?;
/// let lin = Scope::user("lin")?;
/// source.remember(&lin, "I live in Porto.").await?;
/// let mut copier = Copier::new(&source, &target).on_commit(|report| println!("{} copied", report.seen()));
/// copier.copy(&lin).await?;
/// assert_eq!(copier.report().added, 1);
/// # Ok::<(), memory_engine::Error>(()) }).unwrap();
/// ```
pub struct Copier<'e> {
    source: &'e Curation,
    target: &'e Curation,
    actor: Option<&'e Arc<Actor>>,
    update: bool,
    on_commit: Box<dyn FnMut(&CopyReport) + Send + 'e>,
    report: CopyReport,
}

impl fmt::Debug for Copier<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Copier").field("update", &self.update).field("report", &self.report).finish_non_exhaustive()
    }
}

impl<'e> Copier<'e> {
    /// Creates a copier that leaves the existing records of the target as they are.
    pub fn new(source: &'e impl TransferEnd, target: &'e impl TransferEnd) -> Self {
        Self {
            source: source.curation(),
            target: target.curation(),
            actor: target.actor(),
            update: false,
            on_commit: Box::new(|_| ()),
            report: CopyReport::default(),
        }
    }

    /// Sets whether records of the target that differ are replaced. Default: false.
    #[must_use]
    pub fn update(mut self, update: bool) -> Self {
        self.update = update;
        self
    }

    /// Sets a callback that is called after each commit.
    #[must_use]
    pub fn on_commit(mut self, on_commit: impl FnMut(&CopyReport) + Send + 'e) -> Self {
        self.on_commit = Box::new(on_commit);
        self
    }

    /// Returns the counts so far.
    pub fn report(&self) -> &CopyReport {
        &self.report
    }

    /// Returns the counts.
    pub fn into_report(self) -> CopyReport {
        self.report
    }

    /// Copies the data of one tenant or user: first the records, then the tombstones, which could block them.
    ///
    /// # Errors
    /// The errors of either store. The committed records stay, and a second copy continues.
    pub async fn copy(&mut self, scope: &Scope) -> Result<()> {
        importing(self.actor, "copy", self.copy_all(scope)).await
    }

    async fn copy_all(&mut self, scope: &Scope) -> Result<()> {
        self.report.namespaces += 1;
        self.copy_synonyms(scope).await?;
        let mut after = None;
        loop {
            let page = self
                .source
                .indexed_store()
                .scan_unexpired(scope, &ScanQuery::oldest(PAGE_RECORDS).with_after(after))
                .await?;
            // The scope of a tenant includes its users, which are copied separately.
            self.copy_records(scope, page.records.into_iter().filter(|r| r.scope.namespace() == *scope).collect())
                .await?;
            (self.on_commit)(&self.report);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        let mut last: Option<RecordId> = None;
        loop {
            let mut page = self.source.indexed_store().records().tombstones(scope, last, PAGE_RECORDS).await?;
            let Some(end) = page.last().map(|tombstone| tombstone.id) else { return Ok(()) };
            last = Some(end);
            page.retain(|tombstone| tombstone.scope.namespace() == *scope);
            let new = self.target.import_tombstones(scope, &page).await?;
            self.report.tombstones += new;
            self.report.tombstones_there += page.len() as u64 - new;
            (self.on_commit)(&self.report);
        }
    }

    async fn copy_records(&mut self, scope: &Scope, records: Vec<Record>) -> Result<()> {
        if records.is_empty() {
            return Ok(());
        }
        let ids: Vec<_> = records.iter().map(|record| record.id).collect();
        let stored = self.target.indexed_store().get_unexpired(scope, &ids).await?;
        let mut new_records = Vec::with_capacity(records.len());
        for (record, stored) in records.into_iter().zip(stored) {
            match stored {
                Some(stored) if !self.update || stored.same_content(&record) => {
                    self.report.unchanged += 1;
                    self.report.different += u64::from(!stored.same_content(&record));
                }
                Some(_) | None => match self.target.indexed_store().check(&record) {
                    Ok(()) => new_records.push(record),
                    Err(e) => self.report.count_refused(&record, &e),
                },
            }
        }
        if new_records.is_empty() {
            return Ok(());
        }
        let mode = if self.update { PutMode::Upsert } else { PutMode::IfAbsent };
        let store = async |records| self.target.store_records(scope, records, mode).await;
        let (written, refused) = store_accepted(new_records, store).await?;
        written.iter().for_each(|written| self.report.count(written));
        refused.iter().for_each(|(record, error)| self.report.count_refused(record, error));
        Ok(())
    }

    async fn copy_synonyms(&mut self, scope: &Scope) -> Result<()> {
        let source = self.source.synonyms().store();
        let target = self.target.synonyms().store();
        let known: BTreeMap<_, _> = target.list(scope).await?.into_iter().map(|group| (group.key(), group)).collect();
        let mut new = source.list(scope).await?;
        new.retain(|group| known.get(&group.key()) != Some(group));
        if !self.update {
            let all = new.len();
            new.retain(|group| !known.contains_key(&group.key()));
            self.report.synonyms_different += (all - new.len()) as u64;
        }
        if !new.is_empty() {
            target.put(scope, &new).await?;
            self.report.synonyms += new.len() as u64;
        }
        let existing: BTreeMap<_, _> =
            target.verdicts(scope).await?.into_iter().map(|v| (v.pair, v.accepted)).collect();
        let is_new = |verdict: &PairVerdict| match existing.get(&verdict.pair) {
            Some(accepted) => self.update && *accepted != verdict.accepted,
            None => true,
        };
        let new: Vec<_> = source.verdicts(scope).await?.into_iter().filter(is_new).collect();
        if !new.is_empty() {
            target.judge(scope, &new).await?;
            self.report.verdicts += new.len() as u64;
        }
        Ok(())
    }
}
