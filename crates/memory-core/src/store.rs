//! The contract of the store that holds the truth.

mod cursor;
mod job;
mod put;
mod queue;
mod removed;

use std::{collections::BTreeMap, fmt::Debug};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

pub use job::{Done, Failure, Index, Job, Pending, Ticket};
pub use put::{Basis, BlockReason, Decision, Outcome, PutMode, Write, WriteResult};
pub use queue::JobQueue;
pub use removed::{DeletionReport, RemovalCounts};

use crate::{
    error::{Error, Result},
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
/// Scope is the first argument of every call and part of every query: a record outside it does not exist for the
/// caller.
///
/// Nothing outlives what it was made from: when a record is deleted or its text changes, every record that names it in
/// `derived_from`, directly or through others, is removed in the same transaction, wherever in the user's memory it
/// lives. Its tombstone is a [withdrawn](Tombstone::withdrawn) one, and what else it was made from is queued for the
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
    /// changed, is queued for the jobs in [`WriteResult::pending`]; one that is not to be
    /// [indexed](Record::is_indexed) leaves the derived indexes and the queue. What was made from a text that is
    /// replaced goes, unless the same batch writes it: see [`WriteResult::withdrawn`].
    ///
    /// # Errors
    /// `InvalidInput` for a record that fails [`Record::validate`]; `Unauthorized` for an address outside `scope`;
    /// `Conflict` when [`PutMode`] says so, the address of a stored record would change, or what a write is [based
    /// on](Write::based_on) is no longer as it was; `NotFound` for an update of what is not there. Nothing is written
    /// then.
    async fn put(&self, scope: &Scope, writes: Vec<Write>) -> Result<Vec<WriteResult>>;

    /// The records with these ids, in their order; `None` where there is none within `scope`.
    async fn get(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<Record>>>;

    /// Deletes the records with these ids and the records derived from them, in one transaction, from every index of
    /// this backend, and leaves a tombstone for each. Returns the numbers of removed items, without those of indexes
    /// outside of this backend. If `scope` covers several users with a record of the same id, all of them are
    /// deleted.
    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<DeletionReport>;

    /// A page of records by their [`position`](Record::position).
    ///
    /// A position is unique within a user. Where `scope` covers several users who have a record of one id at one time,
    /// a page may end between the two, and the next one begin after both: to read without a gap, scan user by user.
    ///
    /// # Errors
    /// `InvalidInput` for a filter that fails [`Filter::validate`].
    async fn scan(&self, scope: &Scope, query: &ScanQuery) -> Result<Page>;

    /// Returns the ids of records derived from these, directly or through others, in any state, within `scope`.
    /// Sorted by id.
    async fn derived(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<RecordId>>;

    /// For each id, the active records of the same kind right before and after it at the very same address, by
    /// position.
    async fn adjacent(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Adjacent>>;

    /// Counts what is within `scope`.
    async fn stats(&self, scope: &Scope) -> Result<Stats>;

    /// A page of tombstones by id, those after `after`.
    async fn tombstones(&self, scope: &Scope, after: Option<RecordId>, limit: usize) -> Result<Vec<Tombstone>>;

    /// Takes in tombstones of another store: removes what they name, bars it from now on, and counts the new ones.
    ///
    /// A tombstone whose id belongs to a record at another address is left out: it speaks of another record. Of two
    /// tombstones of one id the later one is kept, and the content of both stays barred. What was made from the
    /// records that go, goes with them and is not counted.
    ///
    /// # Errors
    /// `Unauthorized` when one lies outside `scope`; nothing is taken then.
    async fn import_tombstones(&self, scope: &Scope, tombstones: &[Tombstone]) -> Result<u64>;

    /// Finishes the calls that are running and releases connections, threads and files. Calls that come later fail with
    /// `Closed`. Closing a store twice is no error. Default: does nothing; the store is closed when it is dropped.
    async fn close(&self) {}
}

const _: fn(&dyn RecordStore) = |_| {};

/// The trace of a deleted record. It prevents that the record is stored again, and holds nothing of its text.
///
/// It blocks the id for ever. Within the same user it also blocks the content of imports and derived records, which
/// would bring back what was deleted. A person, a model or a tool may say the same again ([`Trust::User`],
/// [`Trust::Assistant`], [`Trust::Tool`]). A record that was only [withdrawn](Self::withdrawn) may be derived again
/// from other records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Tombstone {
    /// The record's id.
    pub id: RecordId,
    /// The record's address.
    pub scope: Scope,
    /// The hash of its text.
    #[serde(with = "hash_as_text")]
    pub content_hash: ContentHash,
    /// The time of the deletion.
    pub deleted_at: Timestamp,
    /// True if a record that it was derived from was deleted or changed; false if it was deleted itself.
    #[serde(default)]
    pub withdrawn: bool,
}

impl Tombstone {
    /// Creates the tombstone of a record that was deleted itself.
    pub fn new(id: RecordId, scope: Scope, content_hash: ContentHash, deleted_at: Timestamp) -> Self {
        Self { id, scope, content_hash, deleted_at, withdrawn: false }
    }

    /// Says whether the record was removed only because one that it was derived from was deleted or changed.
    #[must_use]
    pub fn with_withdrawn(mut self, withdrawn: bool) -> Self {
        self.withdrawn = withdrawn;
        self
    }

    /// Returns true if the tombstone blocks records of this trust with the same content.
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

/// A query for a page of records in order of time.
///
/// ```
/// use memory_engine_core::{Filter, ScanQuery};
///
/// let query: ScanQuery = serde_json::from_str(r#"{"limit": 20, "order": "newest_first", "counted": true}"#)?;
/// assert_eq!(query, ScanQuery::newest(20).counted());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ScanQuery {
    /// Restricts the records. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<Filter>,
    /// The end of time that comes first. Default: the oldest.
    pub order: Order,
    /// The end of the page before. Default: none, the first page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Cursor>,
    /// Number of records that are skipped before the page begins. Default: 0.
    pub skip: usize,
    /// Maximum number of records in the page; 0 gives an empty page. Default: 100.
    pub limit: usize,
    /// True if the page says how many records there are in all. Default: false.
    pub counted: bool,
}

impl Default for ScanQuery {
    fn default() -> Self {
        Self { filter: None, order: Order::default(), after: None, skip: 0, limit: 100, counted: false }
    }
}

impl ScanQuery {
    /// Queries the oldest `limit` records.
    pub fn oldest(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Queries the newest `limit` records.
    pub fn newest(limit: usize) -> Self {
        Self { limit, order: Order::NewestFirst, ..Self::default() }
    }

    /// Restricts to records that match this filter.
    #[must_use]
    pub fn with_filter(mut self, filter: Filter) -> Self {
        self.filter = Some(filter);
        self
    }

    /// Begins after this place, in the query's order.
    #[must_use]
    pub fn with_after(mut self, after: Option<Cursor>) -> Self {
        self.after = after;
        self
    }

    /// Skips records before the page begins, for numbered pages. The store reads the skipped records; to go from page
    /// to page, [`with_after`](Self::with_after) is faster.
    #[must_use]
    pub fn with_skip(mut self, skip: usize) -> Self {
        self.skip = skip;
        self
    }

    /// Also counts the records that match.
    #[must_use]
    pub fn counted(mut self) -> Self {
        self.counted = true;
        self
    }
}

/// The end of time that comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// The oldest record first.
    #[default]
    OldestFirst,
    /// The newest record first.
    NewestFirst,
}

crate::enum_names! {
    Order, "order" {
        OldestFirst => "oldest_first",
        NewestFirst => "newest_first",
    }
}

/// A place in the order of records.
///
/// As text and in JSON it is an opaque token of letters, digits, `-` and `_`, for the address of a web page.
///
/// ```
/// use memory_engine_core::{Cursor, RecordId, Timestamp};
///
/// let cursor = Cursor { occurred_at: Timestamp::from_micros(7), sequence: 3, id: RecordId::new() };
/// assert_eq!(cursor.to_string().parse::<Cursor>()?, cursor);
/// # Ok::<(), memory_engine_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor {
    /// The time of the record at this position.
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

/// A page of records.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Page {
    /// The records.
    pub records: Vec<Record>,
    /// The place after which the next page begins; `None` if this is the last page.
    pub next: Option<Cursor>,
    /// Number of records that match the filter, on all pages; `None` unless the query [counts](ScanQuery::counted).
    pub total: Option<u64>,
}

impl Page {
    /// Creates a page without a total.
    pub fn new(records: Vec<Record>, next: Option<Cursor>) -> Self {
        Self { records, next, total: None }
    }

    /// Sets the number of records that match, on all pages.
    #[must_use]
    pub fn with_total(mut self, total: Option<u64>) -> Self {
        self.total = total;
        self
    }
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
    /// The id of the record.
    pub id: RecordId,
    /// True if its role or its speaker differs: one of the two then answers the other.
    pub another_voice: bool,
}

impl Neighbor {
    /// `neighbor` as seen from `record`.
    pub fn of(record: &Record, neighbor: &Record) -> Self {
        let another_voice = record.role != neighbor.role || record.speaker != neighbor.speaker;
        Self { id: neighbor.id, another_voice }
    }
}

/// Counts of a scope.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Stats {
    /// Number of records.
    pub records: u64,
    /// Number of records of each kind.
    pub kinds: BTreeMap<String, u64>,
    /// Number of records in each state.
    pub states: BTreeMap<String, u64>,
    /// Number of addresses with at least one record.
    pub addresses: u64,
    /// Number of tombstones.
    pub tombstones: u64,
    /// Number of records that wait for each job.
    pub backlog: BTreeMap<Job, u64>,
    /// The time since which the first of the records that wait for each job has waited.
    pub waiting_since: BTreeMap<Job, Timestamp>,
    /// Number of dead letters of each job: records for which it has failed too often.
    pub given_up: BTreeMap<Job, u64>,
    /// The time at which the oldest record occurred.
    pub oldest: Option<Timestamp>,
    /// The time at which the newest record occurred.
    pub newest: Option<Timestamp>,
}
