//! What is done for a record in the background.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    error::Error,
    id::RecordId,
    record::{Kind, Record},
    scope::Scope,
    time::Timestamp,
};

/// Something to be done for a record in the background.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Job {
    /// Put its terms into the keyword store.
    Keywords,
    /// Put its vector into the vector store.
    Embedding,
    /// Put its vector into the generation of vectors that does not serve. Only a store that holds such a generation queues it,
    /// and by itself: beside every [`Embedding`](Self::Embedding).
    Reembedding,
    /// Cut it into parts, where it is long.
    Chunks,
    /// Find out its topic, what it names and the feeling it shows.
    Metadata,
    /// Find the facts in it.
    Facts,
    /// Find the people and things in it, and how they are related.
    Graph,
    /// Make it part of a summary.
    Summary,
    /// Make it part of what is known of whoever said it.
    Profile,
}

impl Job {
    /// All of them, in the order in which they are best done.
    pub const ALL: [Self; 9] = [
        Self::Keywords,
        Self::Embedding,
        Self::Reembedding,
        Self::Chunks,
        Self::Metadata,
        Self::Facts,
        Self::Graph,
        Self::Summary,
        Self::Profile,
    ];

    /// Those that every record waits for.
    pub const INDEXING: [Self; 2] = [Self::Keywords, Self::Embedding];

    /// The name, as stored.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Keywords => "keywords",
            Self::Embedding => "embedding",
            Self::Reembedding => "reembedding",
            Self::Chunks => "chunks",
            Self::Metadata => "metadata",
            Self::Facts => "facts",
            Self::Graph => "graph",
            Self::Summary => "summary",
            Self::Profile => "profile",
        }
    }

    /// The job of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|job| job.as_str() == name)
    }

    /// The job that makes records of this kind from others.
    pub fn making(kind: &Kind) -> Option<Self> {
        match kind.as_str() {
            "summary" => Some(Self::Summary),
            "fact" => Some(Self::Facts),
            _ => None,
        }
    }
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An index that is derived from the records. Each remembers what it was made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Index {
    /// The terms.
    Keywords,
    /// The vectors.
    Embedding,
}

impl Index {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Keywords, Self::Embedding];

    /// The job that fills it.
    pub const fn job(self) -> Job {
        match self {
            Self::Keywords => Job::Keywords,
            Self::Embedding => Job::Embedding,
        }
    }
}

/// A place in the queue. Who is queued again has another one, so that what was done before does not take it away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u128);

/// A record that waits for a job.
#[derive(Debug, Clone, PartialEq)]
pub struct Pending {
    /// Its place in the queue.
    pub ticket: Ticket,
    /// The record as it is now.
    pub record: Record,
    /// The job.
    pub job: Job,
    /// How often the job has failed for it.
    pub attempts: u32,
    /// Since when it has been waiting.
    pub queued_at: Timestamp,
}

impl Pending {
    /// The receipt that completes it.
    pub fn done(&self) -> Done {
        let (id, scope, revision) = (self.record.id, self.record.scope.clone(), self.record.revision);
        Done { id, scope, job: self.job, revision, ticket: Some(self.ticket) }
    }

    /// The note that the job has failed for it once more, and when it is to be tried again; never, for `None`.
    pub fn failed(&self, error: &Error, retry_at: Option<Timestamp>) -> Failure {
        let Done { id, scope, job, revision, .. } = self.done();
        Failure { id, scope, job, revision, attempts: self.attempts + 1, reason: error.to_string(), retry_at }
    }
}

/// A job that was done for a record as it was at a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// Which record.
    pub id: RecordId,
    /// Its address.
    pub scope: Scope,
    /// Which job.
    pub job: Job,
    /// The revision it was done for.
    pub revision: u64,
    /// The place in the queue that it gives up: if the record has another one by now, that one stays. `None` gives up
    /// whatever place the record has.
    pub ticket: Option<Ticket>,
}

/// A job that could not be done for a record as it was at a revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// Which record.
    pub id: RecordId,
    /// Its address.
    pub scope: Scope,
    /// Which job.
    pub job: Job,
    /// The revision it was tried for.
    pub revision: u64,
    /// How often it has failed by now.
    pub attempts: u32,
    /// What went wrong the last time.
    pub reason: String,
    /// When it is to be tried again; `None` when it was given up.
    pub retry_at: Option<Timestamp>,
}
