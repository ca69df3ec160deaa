//! Background jobs of records.

use serde::{Deserialize, Serialize};

use crate::{
    error::Error,
    id::RecordId,
    record::{Kind, Record},
    scope::Scope,
    time::Timestamp,
};

/// A background job of a record. [`Job::ALL`] has the recommended order of execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Job {
    /// Writes the record's terms to the keyword store.
    Keywords,
    /// Writes the record's vector to the vector store.
    Embedding,
    /// Writes the record's vector to the second version of the vectors. A store with a second version queues this job
    /// together with every [`Embedding`](Self::Embedding) job.
    Reembedding,
    /// Splits a long text into chunks.
    Chunks,
    /// Extracts topic, entities and emotion.
    Metadata,
    /// Extracts facts.
    Facts,
    /// Extracts entities and relations.
    Graph,
    /// Adds the record to a summary.
    Summary,
    /// Updates the profile of the user with the record.
    Profile,
}

crate::enum_names! {
    Job, "job" {
        Keywords => "keywords",
        Embedding => "embedding",
        Reembedding => "reembedding",
        Chunks => "chunks",
        Metadata => "metadata",
        Facts => "facts",
        Graph => "graph",
        Summary => "summary",
        Profile => "profile",
    }
}

impl Job {
    /// The jobs that are queued for every record.
    pub const INDEXING: [Self; 2] = [Self::Keywords, Self::Embedding];

    /// Returns the job with this name.
    pub fn named(name: &str) -> Option<Self> {
        name.parse().ok()
    }

    /// Returns the job that derives records of this kind from others; `None` if no job is queued for that.
    pub fn making(kind: &Kind) -> Option<Self> {
        match kind.as_str() {
            "summary" => Some(Self::Summary),
            "fact" => Some(Self::Facts),
            _ => None,
        }
    }
}

/// An index that is derived from the records. A store records the analyzer or embedding space that built it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Index {
    /// The terms of records.
    Keywords,
    /// The vectors of records.
    Embedding,
}

crate::enum_names! {
    Index, "index" {
        Keywords => "keywords",
        Embedding => "embedding",
    }
}

impl Index {
    /// Returns the job that fills the index.
    pub const fn job(self) -> Job {
        match self {
            Self::Keywords => Job::Keywords,
            Self::Embedding => Job::Embedding,
        }
    }
}

/// Identifies an entry of the job queue. A record that is queued again gets another ticket, so that a late completion
/// of the earlier entry does not remove the new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u128);

/// A record that waits for a job.
#[derive(Debug, Clone, PartialEq)]
pub struct Pending {
    /// The ticket of the queue entry.
    pub ticket: Ticket,
    /// The current record.
    pub record: Record,
    /// The job.
    pub job: Job,
    /// Number of failed attempts.
    pub attempts: u32,
    /// The time at which the job was queued.
    pub queued_at: Timestamp,
}

impl Pending {
    /// Returns the receipt that completes the job.
    pub fn done(&self) -> Done {
        Done {
            id: self.record.id,
            scope: self.record.scope.clone(),
            job: self.job,
            revision: self.record.revision,
            ticket: Some(self.ticket),
        }
    }

    /// Returns the failure of the job after this error. `retry_at` is the time of the next attempt, `None` for never.
    pub fn failed(&self, error: &Error, retry_at: Option<Timestamp>) -> Failure {
        let record = &self.record;
        let failure = Failure::new(record.id, record.scope.clone(), self.job, record.revision, error.to_string());
        failure.with_attempts(self.attempts + 1).with_retry_at(retry_at)
    }
}

/// A job that was done for one revision of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// The id of the record.
    pub id: RecordId,
    /// The address of the record.
    pub scope: Scope,
    /// The job.
    pub job: Job,
    /// The revision of the record for which the job was done.
    pub revision: u64,
    /// The queue entry that is removed. If the record was queued again since, the new entry stays. `None` removes any
    /// entry of the record.
    pub ticket: Option<Ticket>,
}

/// A job that failed for one revision of a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Failure {
    /// The id of the record.
    pub id: RecordId,
    /// The address of the record.
    pub scope: Scope,
    /// The job.
    pub job: Job,
    /// The revision of the record for which the job failed.
    pub revision: u64,
    /// Number of failures so far.
    pub attempts: u32,
    /// The error of the last attempt.
    pub reason: String,
    /// The time of the next attempt; `None` if there is none, because the job has failed too often.
    pub retry_at: Option<Timestamp>,
}

impl Failure {
    /// Creates the first failure of a job, which is not tried again.
    pub fn new(id: RecordId, scope: Scope, job: Job, revision: u64, reason: impl Into<String>) -> Self {
        Self { id, scope, job, revision, attempts: 1, reason: reason.into(), retry_at: None }
    }

    crate::setters! {
        #![must_use]
        /// Sets the number of failures so far.
        with_attempts(attempts: u32);
        /// Sets the time of the next attempt; `None` for no other attempt.
        with_retry_at(retry_at: Option<Timestamp>);
    }
}
