//! The write path: writes records with their terms in one transaction, and then updates separate indexes.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use memory_engine_core::{
    Done, Error, Job, Kind, Outcome, PutMode, Record, RecordId, RemovalCounts, Result, Scope, Write, WriteResult,
    observe::count_queued,
};
use memory_engine_keyword_store::KeywordEntry;

use crate::store::IndexedStore;

/// Maximum time of a record after the current time. Clocks and time zones differ by less than a day.
const MAX_FUTURE: Duration = Duration::from_secs(24 * 60 * 60);

/// The record of a write, for the removal of index entries.
struct WriteTarget {
    user: Scope,
    is_indexed: bool,
}

impl WriteTarget {
    fn of(record: &Record) -> Self {
        Self { user: record.scope.namespace(), is_indexed: record.is_indexed() }
    }
}

/// Returns true if the time of the record must not lie in the future.
fn is_new(write: &Write) -> bool {
    !matches!(write.mode, PutMode::Update { .. }) && write.record.derived_from.is_empty()
}

impl IndexedStore {
    /// Returns an error for a record that [`write`](Self::write) would refuse.
    ///
    /// # Errors
    /// `InvalidInput` as [`Record::validate`], for a time more than a day after the clock's, and for findings of the
    /// screening that are refused.
    pub fn check(&self, record: &Record) -> Result<()> {
        self.check_fields(record)?;
        self.check_screening(record)
    }

    /// As [`check`](Self::check), without the screening.
    ///
    /// # Errors
    /// `InvalidInput` as [`Record::validate`], and for a time more than a day after the clock's.
    pub fn check_fields(&self, record: &Record) -> Result<()> {
        record.validate()?;
        if record.occurred_at <= self.clock().now().after(MAX_FUTURE) {
            return Ok(());
        }
        let message = format!("it occurs at {}, which lies in the future; check year and zone", record.occurred_at);
        Err(Error::invalid("record", message))
    }

    /// Screens records, writes them with their terms in one transaction, updates separate indexes, and wakes the worker
    /// if jobs were queued. The time of a record that is stored already, or is derived from others, may lie in the
    /// future: the clock may have been ahead when it was first stored. A message that a program repeats all day is
    /// [counted](Outcome::Counted).
    ///
    /// # Errors
    /// As [`check`](Self::check) and [`RecordStore::put`](memory_engine_core::RecordStore::put).
    pub async fn write(&self, scope: &Scope, mut writes: Vec<Write>) -> Result<Vec<WriteResult>> {
        self.apply_retention(&mut writes);
        for write in &writes {
            if is_new(write) { self.check_fields(&write.record)? } else { write.record.validate()? }
        }
        let writes = self.screen_writes(writes).await?;
        self.put_counted(scope, writes).await
    }

    /// Writes records that [`screen`](Self::screen) has checked and screened, and stored records, as
    /// [`write`](Self::write) does. For callers that compare a record with the stored one before they write it.
    ///
    /// # Errors
    /// As [`RecordStore::put`](memory_engine_core::RecordStore::put).
    pub async fn write_screened(&self, scope: &Scope, mut writes: Vec<Write>) -> Result<Vec<WriteResult>> {
        self.apply_retention(&mut writes);
        self.put_counted(scope, writes).await
    }

    /// Sets the expiry of new records. A record that replaces a stored one, or is copied with its history, keeps its
    /// own.
    fn apply_retention(&self, writes: &mut [Write]) {
        for write in writes {
            if !matches!(write.mode, PutMode::Update { .. } | PutMode::Replica { .. }) {
                self.retention().apply(&mut write.record);
            }
        }
    }

    /// Writes screened records with their terms.
    pub(crate) async fn put(&self, scope: &Scope, writes: Vec<Write>) -> Result<Vec<WriteResult>> {
        let shared = Arc::new(writes);
        let terms = self.analysis().record_terms(Arc::clone(&shared), |write| &write.record).await?;
        let mut writes = Arc::unwrap_or_clone(shared);
        for (write, terms) in writes.iter_mut().zip(terms) {
            write.terms = Some(terms);
        }
        let has_kept_out = writes.iter().any(|write| write.record.kind == Kind::KEPT_OUT);
        let targets: Vec<WriteTarget> = writes.iter().map(|write| WriteTarget::of(&write.record)).collect();
        // Separate keyword and vector stores are updated from the same writes after the transaction.
        let separate_writes = self.has_separate_indexes().then(|| writes.clone());
        let written = self.records().put(scope, writes).await?;
        if has_kept_out {
            self.kept_out_cache().clear();
        }
        self.unindex_removed(targets, &written).await?;
        if let Some(writes) = separate_writes {
            self.index_separately(scope, writes, &written).await?;
        }
        count_queued(written.iter().flat_map(|written| written.pending.iter().map(|job| job.as_str())));
        if written.iter().any(|written| !written.pending.is_empty() || !written.cascade_deleted.is_empty()) {
            self.wake();
        }
        Ok(written)
    }

    /// Removes finished jobs from the queue. If a record was deleted or retracted while its job ran, removes its index
    /// entries again.
    ///
    /// # Errors
    /// The stores' errors.
    pub async fn finish(&self, done: &[Done]) -> Result<()> {
        // False for a record that was deleted or written again since its job was claimed.
        let is_current = self.queue().complete(done).await?;
        for (done, _) in done.iter().zip(is_current).filter(|(_, is_current)| !is_current) {
            self.unindex(&done.scope, &[done.id]).await?;
        }
        Ok(())
    }

    /// Removes those of these records that are deleted or no longer searchable from every index. Leaves the others.
    /// Returns the number of removed entries per index.
    ///
    /// # Errors
    /// The stores' errors.
    pub async fn unindex(&self, scope: &Scope, ids: &[RecordId]) -> Result<RemovalCounts> {
        self.kept_out_cache().clear();
        let records = self.get_all(scope, ids).await?;
        let is_unindexed = |record: &Option<Record>| !record.as_ref().is_some_and(Record::is_indexed);
        let unindexed = ids.iter().zip(&records).filter(|(_, record)| is_unindexed(record));
        let unindexed: Vec<RecordId> = unindexed.map(|(id, _)| *id).collect();
        let keywords = self.keywords().delete(scope, &unindexed).await?;
        let vectors = self.vectors().delete(scope, &unindexed).await?;
        let mut removed = self.graph().delete(scope, &unindexed).await?;
        removed.keywords += keywords;
        removed.vectors += vectors;
        Ok(removed)
    }

    /// Removes the index entries of records that the writes have deleted or made inactive. `targets` and `written` have
    /// the order of the writes.
    async fn unindex_removed(&self, targets: Vec<WriteTarget>, written: &[WriteResult]) -> Result<()> {
        let mut removed: BTreeMap<Scope, Vec<RecordId>> = BTreeMap::new();
        for (target, written) in targets.into_iter().zip(written) {
            let mut ids = Vec::new();
            if written.outcome == Outcome::Updated && !target.is_indexed {
                ids.push(written.id);
            }
            ids.extend(&written.cascade_deleted);
            if !ids.is_empty() {
                removed.entry(target.user).or_default().extend(ids);
            }
        }
        for (user, ids) in &removed {
            self.unindex(user, ids).await?;
        }
        Ok(())
    }

    /// Updates separate keyword and vector stores.
    async fn index_separately(&self, scope: &Scope, writes: Vec<Write>, written: &[WriteResult]) -> Result<()> {
        let mut records = Vec::with_capacity(writes.len());
        let mut entries = Vec::with_capacity(writes.len());
        let mut embeddings = Vec::with_capacity(writes.len());
        for write in writes {
            let record = Arc::new(write.record);
            entries.push(KeywordEntry { record: Arc::clone(&record), terms: write.terms.unwrap_or_default() });
            records.push(record);
            embeddings.push(write.embedding);
        }
        self.index_keywords(scope, entries, written).await?;
        self.index_embeddings(scope, records, embeddings, written).await
    }

    async fn index_keywords(&self, scope: &Scope, entries: Vec<KeywordEntry>, written: &[WriteResult]) -> Result<()> {
        let queued = entries.into_iter().zip(written).filter(|(_, written)| written.pending.contains(&Job::Keywords));
        let (entries, done): (Vec<_>, Vec<_>) = queued
            .map(|(entry, written)| {
                let done = completion(&entry.record, Job::Keywords, written.revision);
                (entry, done)
            })
            .unzip();
        if entries.is_empty() {
            return Ok(());
        }
        self.keywords().upsert(scope, &entries).await?;
        self.finish(&done).await
    }
}

/// Returns the completion of a job that the write path has done. It has no ticket, since no worker claimed the job.
pub(crate) fn completion(record: &Record, job: Job, revision: u64) -> Done {
    Done { id: record.id, scope: record.scope.clone(), job, revision, ticket: None }
}
