//! Writes of records, and the decision on a write, which all backends share.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    embedding::Embedding,
    error::{Error, ErrorKind, Result},
    history,
    id::RecordId,
    record::Record,
    terms::Terms,
    time::Timestamp,
};

use super::job::Job;

/// A write of one record.
#[derive(Debug, Clone)]
pub struct Write {
    /// The record. Its `revision` is ignored.
    pub record: Record,
    /// The action if a record with the same id is stored.
    pub mode: PutMode,
    /// Analyzed terms of the record, for a backend that indexes them in the same transaction.
    pub terms: Option<Terms>,
    /// Vector of the record, if the caller has one, for a backend that stores vectors in the same transaction.
    pub embedding: Option<Embedding>,
    /// Background jobs in addition to [indexing](Job::INDEXING).
    pub jobs: Vec<Job>,
    /// Preconditions: the records that it was derived from, as they were read. If one of them was written again or is
    /// no longer active, the whole batch fails with `Conflict`, so that no record is derived from a deleted one.
    pub based_on: Vec<Basis>,
}

impl Write {
    /// Creates a write that inserts or replaces the record. Its only jobs are those of indexing.
    pub fn upsert(record: Record) -> Self {
        Self::new(record, PutMode::Upsert)
    }

    /// Creates a write without terms and vector. Its only jobs are those of indexing.
    pub fn new(record: Record, mode: PutMode) -> Self {
        Self { record, mode, terms: None, embedding: None, jobs: Vec::new(), based_on: Vec::new() }
    }

    /// Returns the jobs to queue for a new or changed record, or none if the record is not indexed. A backend that
    /// stores the terms or the vector together with the record leaves out their job.
    pub fn pending(&self) -> Vec<Job> {
        if !self.record.is_indexed() {
            return Vec::new();
        }
        let requested =
            self.jobs.iter().copied().filter(|job| !Job::INDEXING.contains(job) && *job != Job::Reembedding);
        let mut jobs: Vec<Job> = Job::INDEXING.into_iter().chain(requested).collect();
        jobs.sort();
        jobs.dedup();
        jobs
    }
}

/// A precondition of a derived record: a source, at the revision that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Basis {
    /// The id of the source. It belongs to the same user.
    pub id: RecordId,
    /// The revision of the source that was read.
    pub revision: u64,
}

impl Basis {
    /// Returns the precondition that a record is unchanged.
    pub fn of(record: &Record) -> Self {
        Self { id: record.id, revision: record.revision }
    }

    /// Checks the precondition against the stored revision; `None` for a record that is missing or not active.
    ///
    /// # Errors
    /// `Conflict` for `None` and for another revision.
    pub fn check(self, revision: Option<u64>) -> Result<()> {
        if revision == Some(self.revision) {
            return Ok(());
        }
        let message =
            format!("record {}, from which this one was derived, has changed or was deleted; derive it again", self.id);
        Err(Error::new(ErrorKind::Conflict, "put", message))
    }
}

/// The action of a write if a record with the same id is stored. In JSON `"upsert"` or `{"update": {"revision": 3}}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PutMode {
    /// Replaces it. Keeps the time at which it was first stored.
    Upsert,
    /// Keeps it unchanged.
    IfAbsent,
    /// Fails with `Conflict`.
    Create,
    /// Replaces it if it has this revision. Fails with `Conflict` for another revision, and with `NotFound` if there is
    /// no record.
    Update {
        /// The revision that the caller has read.
        revision: u64,
    },
    /// Stores the record of another store as it is there, with its revision and without an entry in its history, for
    /// merges. The stored record must have the revision `replaces`, or be missing if that is 0; otherwise the write
    /// fails as [`Update`](Self::Update) does. The new revision is higher than the replaced one.
    Replica {
        /// The revision that the caller has read; 0 for a missing record.
        replaces: u64,
    },
}

/// The outcome of one write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WriteResult {
    /// The id of the record; for [`Outcome::Counted`] that of the turn that counts it.
    pub id: RecordId,
    /// The outcome.
    pub outcome: Outcome,
    /// The revision of the stored record; 0 if there is none.
    pub revision: u64,
    /// The jobs that this write has queued for the record.
    pub pending: Vec<Job>,
    /// The records that were derived from the replaced text, and were cascade-deleted.
    pub cascade_deleted: Vec<RecordId>,
}

impl WriteResult {
    /// Creates the result of a write that deleted no derived records.
    pub fn new(id: RecordId, outcome: Outcome, revision: u64, pending: Vec<Job>) -> Self {
        Self { id, outcome, revision, pending, cascade_deleted: Vec::new() }
    }
}

/// The effect of a write on a record. In JSON `"created"` or `{"blocked": "content"}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome {
    /// The record is new.
    Created,
    /// The stored record was replaced.
    Updated,
    /// The stored record is kept. It has the same content, or the mode is [`PutMode::IfAbsent`].
    Unchanged,
    /// The record was deleted before, and is not stored again.
    Blocked(BlockReason),
    /// The record is not stored: it repeats a message of the day, or answers one that does, and the stored turn whose
    /// id is in the [`WriteResult`] counts it.
    Counted,
}

/// The reason why a record is not stored again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BlockReason {
    /// A record of this id was deleted.
    Id,
    /// A record with the same content was deleted, and this one is imported or derived.
    Content,
}

impl PutMode {
    /// Returns the name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Upsert => "upsert",
            Self::IfAbsent => "if_absent",
            Self::Create => "create",
            Self::Update { .. } => "update",
            Self::Replica { .. } => "replica",
        }
    }
}

impl fmt::Display for PutMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Outcome {
    /// Returns the name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Updated => "updated",
            Self::Unchanged => "unchanged",
            Self::Blocked(_) => "blocked",
            Self::Counted => "counted",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

crate::enum_names! {
    BlockReason, "reason" {
        Id => "id",
        Content => "content",
    }
}

/// The action of a backend for one write. [`Decision::of`] is the same for all backends.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// Keep the stored record, which has this revision.
    Keep(u64),
    /// Insert the record, unless a tombstone blocks it.
    Insert(Box<Record>),
    /// Replace the stored record.
    Replace {
        /// The record, with its new revision.
        record: Box<Record>,
        /// True if its index entries must be rebuilt.
        reindex: bool,
        /// True if the text has changed, so that records derived from the old text must be deleted.
        withdraw: bool,
    },
}

impl Decision {
    /// Decides on a write at the time `now`. `old` is the stored record with the same namespace and id. A record that
    /// is replaced keeps its [history](crate::history), to which the change is added.
    ///
    /// # Errors
    /// Those of [`RecordStore::put`](crate::RecordStore::put), except for `Unauthorized`.
    pub fn of(mode: PutMode, mut new: Record, old: Option<&Record>, now: Timestamp) -> Result<Self> {
        new.validate()?;
        if let PutMode::Replica { replaces } = mode {
            return Self::of_replica(replaces, new, old);
        }
        let id = new.id;
        let conflict = |message: String| Err(Error::new(ErrorKind::Conflict, "put", message));
        let Some(old) = old else {
            if matches!(mode, PutMode::Update { .. }) {
                return Err(Error::new(ErrorKind::NotFound, "put", format!("there is no record {id} to update")));
            }
            new.revision = 1;
            return Ok(Self::Insert(Box::new(new)));
        };
        match mode {
            PutMode::IfAbsent => return Ok(Self::Keep(old.revision)),
            PutMode::Create => return conflict(format!("there is a record {id} already")),
            PutMode::Update { revision } if revision != old.revision => {
                let current = old.revision;
                return conflict(format!("record {id} is at revision {current}, not {revision}; read it again"));
            }
            PutMode::Update { .. } | PutMode::Replica { .. } | PutMode::Upsert => {}
        }
        if old.scope != new.scope {
            return conflict(format!("record {id} lives at another address; delete it there first"));
        }
        if old.same_content(&new) || history::is_redacted(old, &new) {
            return Ok(Self::Keep(old.revision));
        }
        history::add_change(old, &mut new, now);
        new.revision = old.revision + 1;
        new.recorded_at = old.recorded_at;
        Ok(Self::replacement(old, new))
    }

    fn of_replica(replaces: u64, mut new: Record, old: Option<&Record>) -> Result<Self> {
        let id = new.id;
        let Some(old) = old else {
            if replaces > 0 {
                return Err(Error::new(ErrorKind::NotFound, "put", format!("there is no record {id} to replace")));
            }
            new.revision = new.revision.max(1);
            return Ok(Self::Insert(Box::new(new)));
        };
        let conflict = |message: String| Err(Error::new(ErrorKind::Conflict, "put", message));
        if old.revision != replaces {
            let current = old.revision;
            return conflict(format!("record {id} is at revision {current}, not {replaces}; read it again"));
        }
        if old.scope != new.scope {
            return conflict(format!("record {id} lives at another address; delete it there first"));
        }
        let revision = new.revision;
        new.recorded_at = new.recorded_at.min(old.recorded_at);
        new.revision = old.revision;
        // Unlike `Record::same_content`, this also compares the history.
        let is_same = new == Record { recorded_at: new.recorded_at, ..old.clone() };
        if (is_same && revision <= old.revision) || history::is_redacted(old, &new) {
            return Ok(Self::Keep(old.revision));
        }
        new.revision = revision.max(old.revision + 1);
        Ok(Self::replacement(old, new))
    }

    fn replacement(old: &Record, new: Record) -> Self {
        let reindex =
            old.text != new.text || old.named_speaker() != new.named_speaker() || old.is_indexed() != new.is_indexed();
        let withdraw = old.content_hash() != new.content_hash();
        Self::Replace { record: Box::new(new), reindex, withdraw }
    }
}
