//! Decides the changes of a write or a deletion, in the same way for every backend.
//!
//! Reasons: `docs/design/decisions/0016-only-active-records-are-indexed.md`.

use std::collections::BTreeSet;

use memory_engine_core::{
    Basis, BlockReason, ContentHash, Decision, DeletionReport, Embedding, Error, Job, Kind, Outcome, PutMode, Record,
    RecordId, RemovalCounts, Result, Terms, Timestamp, Tombstone, Write, WriteResult,
};

/// A record to be stored.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordWrite {
    /// The record with its new revision.
    pub record: Record,
    /// True if there was no record with this id.
    pub is_new: bool,
    /// The index entries that replace the old ones; `None` keeps the old ones.
    pub index: Option<IndexEntries>,
    /// True if the text has changed, so that derived records are deleted.
    pub cascades: bool,
}

/// The index entries of a record.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct IndexEntries {
    /// The terms, if they were written together with the record.
    pub terms: Option<Terms>,
    /// The vector, if it was written together with the record and the store keeps it.
    pub embedding: Option<Embedding>,
    /// The jobs that compute the missing entries.
    pub jobs: Vec<Job>,
}

/// Reads the stored records and tombstones of one namespace, for the decision on a write.
pub trait NamespaceState {
    /// The error of a read.
    type Error: From<Error>;

    /// Returns the revision of a source record; `None` if no active record has this id.
    ///
    /// # Errors
    /// Those of the database.
    fn source_revision(&self, id: RecordId) -> Result<Option<u64>, Self::Error>;

    /// Returns true if a record of this id was deleted.
    ///
    /// # Errors
    /// Those of the database.
    fn has_tombstone(&self, id: RecordId) -> Result<bool, Self::Error>;

    /// Returns `None` if no record with this content was deleted. Otherwise returns true if all such records were only
    /// [cascade-deleted](Tombstone::cascade_deleted), and false if one was deleted by the user.
    ///
    /// # Errors
    /// Those of the database.
    fn deleted_content(&self, record: &Record) -> Result<Option<bool>, Self::Error>;
}

/// Decides one write at the time `now`, given the stored record of the same namespace and id. Returns the change to
/// apply, if there is one. If `keeps_vectors` is false, the vector of the write is dropped, and a background job
/// computes it.
///
/// # Errors
/// Those of [`Decision::of`] and [`Basis::check`], and those of reading the state.
pub fn decide<S: NamespaceState>(
    write: Write,
    old: Option<&Record>,
    state: &S,
    keeps_vectors: bool,
    now: Timestamp,
) -> Result<(WriteResult, Option<RecordWrite>), S::Error> {
    for precondition in &write.based_on {
        Basis::check(*precondition, state.source_revision(precondition.id)?)?;
    }
    let id = write.record.id;
    let jobs = write.pending();
    // The content of a replica may be blocked by the tombstone of another record of its own store.
    let may_block_content = !matches!(write.mode, PutMode::Replica { .. });
    let unchanged = |outcome, revision| Ok((WriteResult::new(id, outcome, revision, Vec::new()), None));
    let accepted = match Decision::of(write.mode, write.record, old, now)? {
        Decision::Keep(revision) => return unchanged(Outcome::Unchanged, revision),
        Decision::Insert(_) if state.has_tombstone(id)? => return unchanged(Outcome::Blocked(BlockReason::Id), 0),
        Decision::Insert(record) if may_block_content && blocks_content(&record, state)? => {
            return unchanged(Outcome::Blocked(BlockReason::Content), 0);
        }
        Decision::Replace { record, reindex: true, .. }
            if may_block_content && record.is_indexed() && blocks_content(&record, state)? =>
        {
            return unchanged(Outcome::Blocked(BlockReason::Content), record.revision - 1);
        }
        Decision::Insert(record) => AcceptedWrite { record: *record, is_new: true, reindex: true, cascades: false },
        Decision::Replace { record, reindex, withdraw } => {
            AcceptedWrite { record: *record, is_new: false, reindex, cascades: withdraw }
        }
    };
    let AcceptedWrite { record, is_new, reindex, cascades } = accepted;
    let embedding = write.embedding.filter(|_| keeps_vectors);
    let index = reindex.then(|| index_entries(&record, write.terms, embedding, jobs));
    let outcome = if is_new { Outcome::Created } else { Outcome::Updated };
    let queued = index.as_ref().map(|index| index.jobs.clone()).unwrap_or_default();
    let result = WriteResult::new(id, outcome, record.revision, queued);
    Ok((result, Some(RecordWrite { record, is_new, index, cascades })))
}

/// A write that changes the store.
struct AcceptedWrite {
    record: Record,
    is_new: bool,
    /// True if the old index entries are replaced.
    reindex: bool,
    cascades: bool,
}

/// Returns the index entries of a record. The jobs whose result was written together with the record are left out.
fn index_entries(record: &Record, terms: Option<Terms>, embedding: Option<Embedding>, jobs: Vec<Job>) -> IndexEntries {
    let terms = terms.filter(|_| record.is_indexed());
    let embedding = embedding.filter(|_| record.is_indexed());
    let is_done =
        |job: &Job| (*job == Job::Keywords && terms.is_some()) || (*job == Job::Embedding && embedding.is_some());
    let jobs = jobs.into_iter().filter(|job| !is_done(job)).collect();
    IndexEntries { terms, embedding, jobs }
}

/// Returns true if a record with this content was deleted, and the content is blocked for the trust of this record.
fn blocks_content<S: NamespaceState>(record: &Record, state: &S) -> Result<bool, S::Error> {
    if !Tombstone::blocks_content_for(record.trust, false) {
        return Ok(false);
    }
    let cascade_deleted = state.deleted_content(record)?;
    Ok(cascade_deleted.is_some_and(|cascade_deleted| Tombstone::blocks_content_for(record.trust, cascade_deleted)))
}

/// A record to delete. Has only what its tombstone and the jobs of its sources need, because its other values may be
/// damaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordStub {
    /// The id.
    pub id: RecordId,
    /// The kind.
    pub kind: Kind,
    /// The hash of the text.
    pub content_hash: ContentHash,
    /// The sources; `None` if they cannot be read.
    pub derived_from: Option<Vec<RecordId>>,
}

/// Returns the jobs to queue when derived records are removed, so that each remaining source is processed again.
/// `removed` contains the sources that are removed themselves.
pub fn source_jobs<'r>(
    derived: impl IntoIterator<Item = &'r RecordStub>,
    removed: &BTreeSet<RecordId>,
) -> Vec<(Job, RecordId)> {
    let mut jobs = Vec::new();
    for record in derived {
        let Some(job) = Job::making(&record.kind) else { continue };
        let sources = record.derived_from.iter().flatten().filter(|source| !removed.contains(source));
        jobs.extend(sources.map(|source| (job, *source)));
    }
    jobs
}

/// Returns the report of a deletion: the deleted records in the order of the request and each once, then the records
/// that were cascade-deleted with them.
pub fn deletion_report(
    requested: &[RecordId],
    mut deleted: BTreeSet<RecordId>,
    mut cascaded: BTreeSet<RecordId>,
    mut removed: RemovalCounts,
) -> DeletionReport {
    cascaded.retain(|id| !deleted.contains(id));
    removed.cascade_deleted = cascaded.len() as u64;
    let mut ids: Vec<RecordId> = requested.iter().copied().filter(|id| deleted.remove(id)).collect();
    ids.extend(cascaded);
    DeletionReport { ids, removed }
}

#[cfg(test)]
mod tests;
