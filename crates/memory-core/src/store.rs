//! The contract of the store that holds the truth.

mod job;
mod put;
mod queue;
mod removed;

use std::{collections::BTreeMap, fmt::Debug};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

pub use job::{Done, Failure, Index, Job, Pending, Ticket};
pub use put::{Basis, BlockReason, Decision, Outcome, PutMode, Write, Written};
pub use queue::JobQueue;
pub use removed::{Deleted, Removed};

use crate::{
    error::Result,
    filter::Filter,
    id::RecordId,
    record::{ContentHash, Record, Trust},
    scope::Scope,
    time::Timestamp,
};

/// Stores records and the tombstones of deleted ones.
///
/// Records are the source of truth: vectors, terms and graph are derived from them. A backend that keeps several stores
/// in one database writes the derived parts in the same transaction. Any other backend queues a job for each missing
/// part in its [`JobQueue`], in the transaction that writes the record.
///
/// Scope is the first argument of every call and part of every query: a record outside it does not exist for the caller.
///
/// Nothing outlives what it was made from: when a record is deleted or its text changes, every record that names it in
/// `derived_from`, directly or through others, is removed in the same transaction, wherever in the user's memory it lives. Its
/// tombstone is a [withdrawn](Tombstone::withdrawn) one, and what else it was made from is queued for the
/// [job that makes such records](Job::making).
///
/// # Cancel safety
/// Dropping a future either leaves the call undone or lets it finish unseen; never half of it.
#[async_trait]
pub trait RecordStore: Debug + Send + Sync + 'static {
    /// Writes records, all or none, and gives for each what became of it, in their order.
    ///
    /// A record's address must lie within `scope`. Where two writes of one batch name the same record, the later sees
    /// what the earlier did. A record that was deleted before is not written again but [`Outcome::Blocked`]: see
    /// [`Tombstone`]. Every record that was created, or whose text, [named speaker](Record::named_speaker) or activity
    /// changed, is queued for the jobs in [`Written::pending`]; one that is not to be [indexed](Record::is_indexed) leaves the
    /// derived indexes and the queue. What was made from a text that is replaced goes, unless the same batch writes it: see
    /// [`Written::withdrawn`].
    ///
    /// # Errors
    /// `InvalidInput` for a record that fails [`Record::validate`]; `Unauthorized` for an address outside `scope`;
    /// `Conflict` when [`PutMode`] says so, the address of a stored record would change, or what a write is
    /// [based on](Write::based_on) is no longer as it was; `NotFound` for an update of what is not there. Nothing is written
    /// then.
    async fn put(&self, scope: &Scope, writes: Vec<Write>) -> Result<Vec<Written>>;

    /// The records with these ids, in their order; `None` where there is none within `scope`.
    async fn get(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<Record>>>;

    /// Deletes the records with these ids and what was made from them, in one transaction, from every index that the
    /// backend keeps beside them, and leaves a tombstone for each. Says what that has removed: of indexes that are kept
    /// elsewhere, nothing. Where `scope` covers several users who have a record of one id, it goes for all of them.
    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<Deleted>;

    /// A page of records by their [`position`](Record::position).
    ///
    /// A position is unique within a user. Where `scope` covers several users who have a record of one id at one time, a
    /// page may end between the two, and the next one begin after both: to read without a gap, scan user by user.
    ///
    /// # Errors
    /// `InvalidInput` for a filter that fails [`Filter::validate`].
    async fn scan(&self, scope: &Scope, query: &ScanQuery) -> Result<Page>;

    /// The records that were made from these, directly or through others, whatever their state, by id; of those that live
    /// within `scope`.
    async fn derived(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<RecordId>>;

    /// For each id, the active records of the same kind right before and after it at the very same address, by position.
    async fn adjacent(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Adjacent>>;

    /// Counts what is within `scope`.
    async fn stats(&self, scope: &Scope) -> Result<Stats>;

    /// A page of tombstones by id, those after `after`.
    async fn tombstones(&self, scope: &Scope, after: Option<RecordId>, limit: usize) -> Result<Vec<Tombstone>>;

    /// Takes in tombstones of another store: removes what they name, bars it from now on, and counts the new ones.
    ///
    /// A tombstone whose id belongs to a record at another address is left out: it speaks of another record. Of two
    /// tombstones of one id the later one is kept, and the content of both stays barred. What was made from the records that
    /// go, goes with them and is not counted.
    ///
    /// # Errors
    /// `Unauthorized` when one lies outside `scope`; nothing is taken then.
    async fn import_tombstones(&self, scope: &Scope, tombstones: &[Tombstone]) -> Result<u64>;

    /// Finishes the calls that are running and releases connections, threads and files. Calls that come later fail with
    /// `Closed`. Closing a store twice is no error. Default: does nothing; the store is closed when it is dropped.
    async fn close(&self) {}
}

const _: fn(&dyn RecordStore) = |_| {};

/// What is left of a deleted record: enough to keep it away, and nothing of what it said.
///
/// It bars its id for ever, and its content, within the same user, from everything but a fresh utterance: what a person,
/// a model or a tool says anew ([`Trust::User`], [`Trust::Assistant`], [`Trust::Tool`]) is new, while an import or a
/// derivation that reads the same brings back what was deleted. What was only [withdrawn](Self::withdrawn) may be derived
/// again, from what is still there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tombstone {
    /// The record's id.
    pub id: RecordId,
    /// The record's address.
    pub scope: Scope,
    /// The hash of what it said.
    #[serde(with = "hash_as_text")]
    pub content_hash: ContentHash,
    /// When it was deleted.
    pub deleted_at: Timestamp,
    /// Whether nobody deleted it, but something that it was made from was deleted or changed.
    #[serde(default)]
    pub withdrawn: bool,
}

impl Tombstone {
    /// Whether what was deleted, or only `withdrawn`, stays away from records of this trust that read the same.
    pub fn bars_content_for(trust: Trust, withdrawn: bool) -> bool {
        match trust {
            Trust::Import => true,
            Trust::Derived => !withdrawn,
            Trust::User | Trust::Assistant | Trust::Tool => false,
        }
    }
}

mod hash_as_text {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::record::ContentHash;

    pub(super) fn serialize<S: Serializer>(hash: &ContentHash, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(hash)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ContentHash, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Which records to read, in which order, from where on.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ScanQuery {
    /// Only these.
    pub filter: Option<Filter>,
    /// Which end comes first.
    pub order: Order,
    /// Where the page before ended.
    pub after: Option<Cursor>,
    /// How many of them are passed over before the page begins.
    pub skip: usize,
    /// How many at the most; 0 gives an empty page.
    pub limit: usize,
    /// Whether it is asked how many there are in all.
    pub counted: bool,
}

impl ScanQuery {
    /// The oldest `limit` records.
    pub fn oldest(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    /// The newest `limit` records.
    pub fn newest(limit: usize) -> Self {
        Self { limit, order: Order::NewestFirst, ..Self::default() }
    }

    /// Only those that match.
    #[must_use]
    pub fn with_filter(mut self, filter: Filter) -> Self {
        self.filter = Some(filter);
        self
    }

    /// Only those after that place, in the query's order.
    #[must_use]
    pub fn with_after(mut self, after: Option<Cursor>) -> Self {
        self.after = after;
        self
    }

    /// Passes over so many before the page begins, as who shows numbered pages has to. The store has to go by them: who goes
    /// from page to page asks for what comes [after](Self::with_after) the one before.
    #[must_use]
    pub fn with_skip(mut self, skip: usize) -> Self {
        self.skip = skip;
        self
    }

    /// Asks how many there are in all, too.
    #[must_use]
    pub fn counted(mut self) -> Self {
        self.counted = true;
        self
    }
}

/// Which end of time comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// From the past on.
    #[default]
    OldestFirst,
    /// From now back.
    NewestFirst,
}

/// A place in the order of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor {
    /// When the record there occurred.
    pub occurred_at: Timestamp,
    /// Its sequence number.
    pub sequence: i64,
    /// Its id.
    pub id: RecordId,
}

impl Cursor {
    /// The place of a record.
    pub fn at(record: &Record) -> Self {
        let (occurred_at, sequence, id) = record.position();
        Self { occurred_at, sequence, id }
    }
}

/// Some records, and where the next ones begin.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Page {
    /// The records.
    pub records: Vec<Record>,
    /// Where to go on; `None` when this was the last page.
    pub next: Option<Cursor>,
    /// How many records the filter lets through in all, whatever page this is; `None` unless the query asks for it.
    pub total: Option<u64>,
}

/// The records next to one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Adjacent {
    /// The one before it.
    pub previous: Option<Neighbor>,
    /// The one after it.
    pub next: Option<Neighbor>,
}

/// A record next to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Neighbor {
    /// Which record.
    pub id: RecordId,
    /// Whether somebody else speaks: another role or another speaker. One of the two then answers the other.
    pub another_voice: bool,
}

impl Neighbor {
    /// `neighbor` as seen from `record`.
    pub fn of(record: &Record, neighbor: &Record) -> Self {
        let another_voice = record.role != neighbor.role || record.speaker != neighbor.speaker;
        Self { id: neighbor.id, another_voice }
    }
}

/// What is within a scope.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct Stats {
    /// How many records.
    pub records: u64,
    /// How many of each kind.
    pub kinds: BTreeMap<String, u64>,
    /// How many of each state.
    pub states: BTreeMap<String, u64>,
    /// How many addresses hold at least one record.
    pub addresses: u64,
    /// How many tombstones.
    pub tombstones: u64,
    /// How many records wait for each job.
    pub backlog: BTreeMap<Job, u64>,
    /// Since when the one that has waited longest for each job has been waiting.
    pub waiting_since: BTreeMap<Job, Timestamp>,
    /// How many records each job was given up for, after it had failed too often.
    pub given_up: BTreeMap<Job, u64>,
    /// When the oldest record occurred.
    pub oldest: Option<Timestamp>,
    /// When the newest record occurred.
    pub newest: Option<Timestamp>,
}
