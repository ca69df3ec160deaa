//! Writing a record: what may happen, decided in one place for every backend.

use crate::{Error, ErrorKind, Job, Record, RecordId, Result, State, Terms};

/// A record to be written.
#[derive(Debug, Clone)]
pub struct Write {
    /// The record; its `revision` is ignored.
    pub record: Record,
    /// What to do about one that is there.
    pub mode: PutMode,
    /// Its analyzed terms, for a backend that indexes them in the same transaction.
    pub terms: Option<Terms>,
}

impl Write {
    /// Writes the record whatever was there, without terms.
    pub fn upsert(record: Record) -> Self {
        Self { record, mode: PutMode::Upsert, terms: None }
    }
}

/// What a write does about a record of the same id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutMode {
    /// Takes its place; the time it was first recorded stays.
    Upsert,
    /// Leaves it as it is.
    IfAbsent,
    /// Fails with `Conflict`.
    Create,
    /// Takes its place if it is still at this revision, and fails with `Conflict` if not, `NotFound` if it is gone.
    Update {
        /// The revision that the caller has read.
        revision: u64,
    },
}

/// What became of one write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Which record.
    pub id: RecordId,
    /// What happened.
    pub outcome: Outcome,
    /// The record's revision now; 0 when there is none.
    pub revision: u64,
    /// The jobs that this write has queued for it.
    pub pending: Vec<Job>,
}

/// What happened to a record that was to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was not there.
    Created,
    /// It was there and differs now.
    Updated,
    /// It was there and is as it was.
    Unchanged,
    /// It had been deleted before, and stays away.
    Barred(Barred),
}

/// Why a record stays away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Barred {
    /// A record of this id was deleted.
    Id,
    /// A record that reads the same was deleted, and this one is no fresh utterance.
    Content,
}

/// What a backend has to do for a write. Made by [`Decision::of`], so that all backends decide alike.
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
        /// Whether what is derived from it has to be made anew.
        reindex: bool,
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
        let indexed = |r: &Record| (r.text.clone(), r.named_speaker().map(str::to_owned), r.state == State::Active);
        let reindex = indexed(old) != indexed(&new);
        (new.revision, new.recorded_at) = (old.revision + 1, old.recorded_at);
        Ok(Self::Replace { record: Box::new(new), reindex })
    }
}
