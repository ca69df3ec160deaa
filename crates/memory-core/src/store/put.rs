//! Writing a record: what may happen, decided in one place for every backend.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    embedding::Embedding,
    error::{Error, ErrorKind, Result},
    id::RecordId,
    record::Record,
    terms::Terms,
};

use super::job::Job;

/// A record to be written.
#[derive(Debug, Clone)]
pub struct Write {
    /// The record; its `revision` is ignored.
    pub record: Record,
    /// The action if a record with the same id is stored.
    pub mode: PutMode,
    /// Its analyzed terms, for a backend that indexes them in the same transaction.
    pub terms: Option<Terms>,
    /// Its vector, where the caller has one already, for a backend that keeps vectors in the same transaction.
    pub embedding: Option<Embedding>,
    /// Background jobs in addition to [indexing](Job::INDEXING).
    pub jobs: Vec<Job>,
    /// The records that it was derived from, as they were read. If one of them was written again since or is not
    /// active any more, the whole batch fails with `Conflict`, so that nothing is derived from a deleted record.
    pub based_on: Vec<Basis>,
}

impl Write {
    /// Writes the record whether or not it exists, without terms, with indexing as the only job.
    pub fn upsert(record: Record) -> Self {
        Self::new(record, PutMode::Upsert)
    }

    /// Writes the record, without terms, to be indexed only.
    pub fn new(record: Record, mode: PutMode) -> Self {
        Self { record, mode, terms: None, embedding: None, jobs: Vec::new(), based_on: Vec::new() }
    }

    /// The jobs that it is queued for when it is new or says something else now; none when it is not to be indexed. A
    /// backend that takes the terms or the vector in with the record leaves out the job for them.
    pub fn pending(&self) -> Vec<Job> {
        if !self.record.is_indexed() {
            return Vec::new();
        }
        let asked = self.jobs.iter().copied().filter(|job| !Job::INDEXING.contains(job) && *job != Job::Reembedding);
        let mut jobs: Vec<Job> = Job::INDEXING.into_iter().chain(asked).collect();
        jobs.sort();
        jobs.dedup();
        jobs
    }
}

/// A record as it was read before another one was derived from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Basis {
    /// The id of the record. It belongs to the same user.
    pub id: RecordId,
    /// Its revision.
    pub revision: u64,
}

impl Basis {
    /// This record, as it is.
    pub fn of(record: &Record) -> Self {
        Self { id: record.id, revision: record.revision }
    }

    /// Refuses what is made from a record that is not active any more (`None`) or at another revision.
    ///
    /// # Errors
    /// `Conflict`.
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
    /// Replaces it; the time at which it was first recorded stays.
    Upsert,
    /// Leaves it as it is.
    IfAbsent,
    /// Fails with `Conflict`.
    Create,
    /// Replaces it if it is still at this revision. Fails with `Conflict` if not, and with `NotFound` if it is gone.
    Update {
        /// The revision that the caller has read.
        revision: u64,
    },
}

/// The outcome of one write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WriteResult {
    /// The record.
    pub id: RecordId,
    /// The outcome.
    pub outcome: Outcome,
    /// The revision of the stored record; 0 if there is none.
    pub revision: u64,
    /// The jobs that this write has queued for it.
    pub pending: Vec<Job>,
    /// The records that were derived from the replaced text, and were removed with it.
    pub withdrawn: Vec<RecordId>,
}

impl WriteResult {
    /// Creates the outcome of a write that removed no derived records.
    pub fn new(id: RecordId, outcome: Outcome, revision: u64, pending: Vec<Job>) -> Self {
        Self { id, outcome, revision, pending, withdrawn: Vec::new() }
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
    /// The stored record has the same content already.
    Unchanged,
    /// The record was deleted before, and is not stored again.
    Blocked(BlockReason),
}

/// The reason why a record is not stored again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BlockReason {
    /// A record of this id was deleted.
    Id,
    /// A record with the same content was deleted, and this one is not a new statement.
    Content,
}

impl PutMode {
    /// The name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Upsert => "upsert",
            Self::IfAbsent => "if_absent",
            Self::Create => "create",
            Self::Update { .. } => "update",
        }
    }
}

impl fmt::Display for PutMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Outcome {
    /// The name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Updated => "updated",
            Self::Unchanged => "unchanged",
            Self::Blocked(_) => "blocked",
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

/// The action of a backend for one write. [`Decision::of`] makes it, so that all backends decide alike.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// Nothing: the stored record stays, at this revision.
    Keep(u64),
    /// Store the record, unless a tombstone bars it.
    Insert(Box<Record>),
    /// Store the record in the old one's place.
    Replace {
        /// The record, with its new revision.
        record: Box<Record>,
        /// True if its index entries must be rebuilt.
        reindex: bool,
        /// True if its content has changed, so that records derived from it must be deleted.
        withdraw: bool,
    },
}

impl Decision {
    /// Decides a write, given the record of the same namespace and id that is stored now.
    ///
    /// # Errors
    /// Those of [`RecordStore::put`](crate::RecordStore::put), but for the scope's.
    pub fn of(mode: PutMode, mut new: Record, old: Option<&Record>) -> Result<Self> {
        new.validate()?;
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
                let now = old.revision;
                return conflict(format!("record {id} is at revision {now}, not {revision}; read it again"));
            }
            PutMode::Update { .. } | PutMode::Upsert => {}
        }
        if old.scope != new.scope {
            return conflict(format!("record {id} lives at another address; delete it there first"));
        }
        if old.same_content(&new) {
            return Ok(Self::Keep(old.revision));
        }
        let indexed = |r: &Record| (r.text.clone(), r.named_speaker().map(str::to_owned), r.is_indexed());
        let reindex = indexed(old) != indexed(&new);
        let withdraw = old.content_hash() != new.content_hash();
        (new.revision, new.recorded_at) = (old.revision + 1, old.recorded_at);
        Ok(Self::Replace { record: Box::new(new), reindex, withdraw })
    }
}
