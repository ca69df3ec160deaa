//! Merges two stores that have diverged.

mod plan;
mod snapshot;
mod synonyms;

use std::{fmt, sync::Arc};

use memory_engine_core::{Error, Outcome, PutMode, Record, RecordId, Result, Scope, Write, WriteResult, audit::Actor};
use memory_engine_curation::Curation;
use serde::Serialize;

use self::{plan::Plan, snapshot::StoreSnapshot};
use crate::transfer::{PAGE_RECORDS, TransferEnd, importing, store_accepted};

pub use self::plan::{MergeReason, MergeSide};

/// Maximum number of conflicts and of refused records that a report lists. All of them are counted.
const MAX_LISTED: usize = 1000;

/// A record that both stores have with different content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MergeConflict {
    /// The id of the record.
    pub id: RecordId,
    /// The address of the record.
    pub scope: Scope,
    /// The kind of the record.
    pub kind: String,
    /// The names of the fields that differ.
    pub differs: Vec<String>,
    /// The store whose version is kept.
    pub winner: MergeSide,
    /// The reason why this version is kept.
    pub reason: MergeReason,
}

/// The result of a merge, or of its dry run.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct MergeReport {
    /// Number of tenants and users that were processed.
    pub namespaces: u64,
    /// Number of records that only the source had.
    pub added: u64,
    /// Number of conflicts: records that both stores have with different content. They are replaced, kept or refused.
    pub conflict_count: u64,
    /// Number of conflicts in which the version of the source replaced that of the target.
    pub replaced: u64,
    /// Number of conflicts in which the target kept its version.
    pub kept: u64,
    /// Number of records that both stores had with the same content.
    pub unchanged: u64,
    /// Number of records of the target that were deleted: they, their content, or what they were derived from were
    /// forgotten or replaced in the source.
    pub deleted: u64,
    /// Number of records of the source that were not taken, for the same reasons.
    pub forgotten: u64,
    /// Number of records that were refused: the target has another record with the same id at another address, or has
    /// changed the record during the merge.
    pub refused: u64,
    /// Number of new tombstones.
    pub tombstones: u64,
    /// Number of groups of synonyms that were written.
    pub synonyms: u64,
    /// Number of decisions about suggested synonyms that were written.
    pub verdicts: u64,
    /// The conflicts, at most the first 1000.
    pub conflicts: Vec<MergeConflict>,
    /// The reasons of refused records, at most the first 1000.
    pub errors: Vec<String>,
}

impl MergeReport {
    /// Returns true if no record, tombstone or synonym was added, replaced or deleted. The revisions of unchanged
    /// records may have been raised to those of the source.
    pub fn is_empty(&self) -> bool {
        self.added + self.replaced + self.deleted + self.tombstones + self.synonyms + self.verdicts == 0
    }

    fn refuse(&mut self, record: RecordId, reason: impl fmt::Display) {
        self.refused += 1;
        if self.errors.len() < MAX_LISTED {
            self.errors.push(format!("record {record}: {reason}"));
        }
    }
}

/// Merges the data of users from a source into a target, so that the target has what either of them had. The source is
/// not changed. The result is the same if source and target are exchanged, and a second merge changes nothing, except
/// for records that the target refuses or whose texts its screening masks.
///
/// - Records of either store are in the result. Tombstones of either store win over content, and so does the deletion
///   of what a record was derived from.
/// - Of two versions of a record one is kept, see [`MergeReason`]. What was derived from the text of the other version
///   is deleted.
/// - Retractions of either store can be restored afterwards.
/// - Groups of synonyms with the same term become their union. Of two decisions about a pair, the rejection is kept.
///
/// A merge reads both stores completely, and keeps about 300 bytes in memory for each record of a user.
///
/// ```
/// use memory_engine::{MemoryEngine, Scope, transfer::Merge};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let laptop = MemoryEngine::builder().in_memory().build().await?;
/// let phone = MemoryEngine::builder().in_memory().build().await?;
/// let lin = Scope::user("lin")?;
/// laptop.remember(&lin, "I live in Porto.").await?;
/// let id = phone.remember(&lin, "I like walnuts.").await?;
/// phone.remember(&lin, "我对海鲜过敏").await?;
/// phone.forget(&lin, id).await?;
///
/// let mut merge = Merge::new(&phone, &laptop);
/// merge.merge(&lin).await?;
/// assert_eq!((merge.report().added, merge.report().tombstones), (1, 1));
/// assert!(merge.report().conflicts.is_empty());
/// # Ok::<(), memory_engine::Error>(()) }).unwrap();
/// ```
pub struct Merge<'e> {
    source: &'e Curation,
    target: &'e Curation,
    actor: Option<&'e Arc<Actor>>,
    dry_run: bool,
    on_progress: Box<dyn FnMut(u64) + Send + 'e>,
    report: MergeReport,
}

impl fmt::Debug for Merge<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Merge").field("dry_run", &self.dry_run).field("report", &self.report).finish_non_exhaustive()
    }
}

impl<'e> Merge<'e> {
    /// Creates a merge of `source` into `target`.
    pub fn new(source: &'e impl TransferEnd, target: &'e impl TransferEnd) -> Self {
        Self {
            source: source.curation(),
            target: target.curation(),
            actor: target.actor(),
            dry_run: false,
            on_progress: Box::new(|_| ()),
            report: MergeReport::default(),
        }
    }

    /// Sets whether the merge only reports the changes. A dry run does not screen the records. Default: false.
    #[must_use]
    pub fn dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }

    /// Sets a callback that is called with the number of records that were read or written since the last call.
    #[must_use]
    pub fn on_progress(mut self, on_progress: impl FnMut(u64) + Send + 'e) -> Self {
        self.on_progress = Box::new(on_progress);
        self
    }

    /// Returns the counts so far.
    pub fn report(&self) -> &MergeReport {
        &self.report
    }

    /// Returns the counts.
    pub fn into_report(self) -> MergeReport {
        self.report
    }

    /// Merges the data of one user, or of one tenant without that of its users.
    ///
    /// # Errors
    /// `Conflict` if a deletion of everything was interrupted in one of the stores; the errors of the stores. What was
    /// written stays, and a second merge continues.
    pub async fn merge(&mut self, scope: &Scope) -> Result<()> {
        let scope = &scope.namespace();
        let source = StoreSnapshot::read(self.source, scope, &mut self.on_progress).await?;
        let target = StoreSnapshot::read(self.target, scope, &mut self.on_progress).await?;
        let plan = Plan::of(&source, &target, self.target.indexed_store().clock().now());
        self.report.namespaces += 1;
        self.report.unchanged += plan.unchanged.len() as u64;
        self.report.deleted += plan.deleted.len() as u64;
        self.report.forgotten += plan.forgotten;
        for id in &plan.misplaced {
            self.report.refuse(*id, "the target has another record with this id at another address");
        }
        self.list_conflicts(scope, &plan).await?;
        if self.dry_run {
            self.report.tombstones += plan.tombstones.len() as u64;
            self.report.replaced += self.count_accepted(scope, &source_wins(&plan).collect::<Vec<_>>()).await?;
            self.report.added += self.count_accepted(scope, &plan.added).await?;
        } else {
            importing(self.actor, "merge", self.write(scope, &plan, &target)).await?;
        }
        self.merge_synonyms(scope).await
    }

    /// Adds the conflicts to the report.
    async fn list_conflicts(&mut self, scope: &Scope, plan: &Plan) -> Result<()> {
        self.report.conflict_count += plan.conflicts.len() as u64;
        self.report.kept += plan.conflicts.iter().filter(|(_, winner, _)| *winner == MergeSide::Target).count() as u64;
        for page in plan.conflicts.chunks(PAGE_RECORDS) {
            if self.report.conflicts.len() >= MAX_LISTED {
                return Ok(());
            }
            let ids: Vec<RecordId> = page.iter().map(|(id, ..)| *id).collect();
            let source_record = self.source.indexed_store().get_all(scope, &ids).await?;
            let target_record = self.target.indexed_store().get_all(scope, &ids).await?;
            for ((source_record, target_record), (id, winner, reason)) in
                source_record.into_iter().zip(target_record).zip(page)
            {
                let (Some(source_record), Some(target_record)) = (source_record, target_record) else { continue };
                if self.report.conflicts.len() < MAX_LISTED {
                    self.report.conflicts.push(MergeConflict {
                        id: *id,
                        differs: snapshot::differences(&source_record, &target_record),
                        scope: target_record.scope,
                        kind: target_record.kind.as_str().to_owned(),
                        winner: *winner,
                        reason: *reason,
                    });
                }
            }
        }
        Ok(())
    }

    async fn write(&mut self, scope: &Scope, plan: &Plan, target: &StoreSnapshot) -> Result<()> {
        // Cascade deletions first, with the tombstones of the plan: the store would make the same ones with its time.
        let (cascaded, others): (Vec<_>, Vec<_>) =
            plan.tombstones.iter().cloned().partition(|tombstone| tombstone.cascade_deleted);
        for page in cascaded.chunks(PAGE_RECORDS).chain(others.chunks(PAGE_RECORDS)) {
            self.target.import_tombstones(scope, page).await?;
            self.report.tombstones += page.len() as u64;
        }
        for tombstone in &plan.further_blocks {
            self.target.import_tombstones(scope, std::slice::from_ref(tombstone)).await?;
        }
        // Before the new records: a replaced text removes the records that were derived from it.
        let replaced: Vec<RecordId> = source_wins(plan).collect();
        self.report.replaced += self.store(scope, &replaced, target).await?;
        self.store(scope, &plan.outdated, target).await?;
        self.report.added += self.store(scope, &plan.added, target).await?;
        let enrichment = self.target.enrichment();
        for (job, sources) in plan.rederived.iter().filter(|(job, _)| enrichment.does(**job)) {
            for page in sources.iter().copied().collect::<Vec<_>>().chunks(PAGE_RECORDS) {
                self.target.indexed_store().queue().enqueue(scope, page, *job).await?;
            }
        }
        let new: Vec<RecordId> = replaced.iter().chain(&plan.added).copied().collect();
        for page in new.chunks(PAGE_RECORDS) {
            for person in enrichment.turns().people_with_facts(scope, page).await? {
                enrichment.turns().reconcile_facts(&person).await?;
            }
        }
        Ok(())
    }

    /// Stores the source's versions of these records in the target. Returns the number of stored records.
    async fn store(&mut self, scope: &Scope, ids: &[RecordId], target: &StoreSnapshot) -> Result<u64> {
        let mut stored = 0;
        for page in ids.chunks(PAGE_RECORDS) {
            let checked = self.accepted_records(scope, page).await?;
            let replaces = |record: &Record| target.records.get(&record.id).map_or(0, |version| version.revision);
            let write = |record: &Record| Write {
                jobs: self.target.enrichment().jobs_for(record),
                ..Write::new(record.clone(), PutMode::Replica { replaces: replaces(record) })
            };
            let store = async |records: Vec<Record>| {
                self.target.indexed_store().write(scope, records.iter().map(write).collect()).await
            };
            let (written, refused) = store_accepted(checked, store).await?;
            stored += self.count_stored(&written);
            refused.into_iter().for_each(|(record, error)| self.report.refuse(record.id, error));
            (self.on_progress)(page.len() as u64);
        }
        Ok(stored)
    }

    /// Returns the source's versions of these records that the target accepts, and reports the others.
    async fn accepted_records(&mut self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Record>> {
        let records = self.source.indexed_store().get_all(scope, ids).await?;
        let mut accepted = Vec::with_capacity(records.len());
        for record in records.into_iter().flatten() {
            match self.target.indexed_store().check(&record) {
                Ok(()) => accepted.push(record),
                Err(error) => self.report.refuse(record.id, error),
            }
        }
        Ok(accepted)
    }

    /// Returns the number of these records that the target accepts, and reports the others.
    async fn count_accepted(&mut self, scope: &Scope, ids: &[RecordId]) -> Result<u64> {
        let mut count = 0;
        for page in ids.chunks(PAGE_RECORDS) {
            count += self.accepted_records(scope, page).await?.len() as u64;
        }
        Ok(count)
    }

    /// Returns the number of stored records, and reports those that tombstones have blocked meanwhile.
    fn count_stored(&mut self, written: &[WriteResult]) -> u64 {
        self.report.forgotten +=
            written.iter().filter(|result| matches!(result.outcome, Outcome::Blocked(_))).count() as u64;
        written.iter().filter(|result| matches!(result.outcome, Outcome::Created | Outcome::Updated)).count() as u64
    }

    async fn merge_synonyms(&mut self, scope: &Scope) -> Result<()> {
        let source = self.source.synonyms().store();
        let target = self.target.synonyms().store();
        let groups = synonyms::groups(source.list(scope).await?, target.list(scope).await?);
        let verdicts = synonyms::verdicts(source.verdicts(scope).await?, target.verdicts(scope).await?);
        self.report.synonyms += groups.len() as u64;
        self.report.verdicts += verdicts.len() as u64;
        if self.dry_run {
            return Ok(());
        }
        if !groups.is_empty() {
            target.put(scope, &groups).await?;
        }
        if !verdicts.is_empty() {
            target.judge(scope, &verdicts).await?;
        }
        Ok::<_, Error>(())
    }
}

/// Returns the conflicts that the source wins.
fn source_wins(plan: &Plan) -> impl Iterator<Item = RecordId> {
    let won = plan.conflicts.iter().filter(|(_, winner, _)| *winner == MergeSide::Source);
    won.map(|(id, ..)| *id)
}
