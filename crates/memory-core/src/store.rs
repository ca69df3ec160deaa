//! The contract of record stores, and the types of its calls.
//!
//! Reasons: `docs/design/decisions/0041-record-store-and-job-queue.md`.

mod cursor;
mod damaged;
mod groups;
mod job;
mod periods;
mod put;
mod queue;
mod removal;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
    sync::Arc,
};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

pub use damaged::DamagedRecord;
pub use groups::RecordGroup;
pub use job::{Done, Failure, Index, Job, Pending, Ticket};
pub use periods::{PeriodCount, Periods};
pub use put::{Basis, BlockReason, Decision, Outcome, PutMode, Write, WriteResult};
pub use queue::JobQueue;
pub use removal::{DeletionReport, RemovalCounts};

use crate::{
    audit::AuditLog,
    error::{Error, Result},
    filter::Filter,
    id::RecordId,
    record::{ContentHash, Record, Trust},
    residue::{PlaceKind, ResidueProbes, ResidueReport, SearchedPlace, Trace},
    scope::Scope,
    time::Timestamp,
};

/// Stores records and the tombstones of deleted ones.
///
/// Records are the source of truth: vectors, terms and graph are derived from them. A backend that keeps several stores
/// in one database writes the derived parts in the same transaction. Any other backend queues a job for each missing
/// part in its [`JobQueue`], in the transaction that writes the record.
///
/// The scope is the first argument of every call and part of every query: a record outside of it does not exist for the
/// caller.
///
/// If a record is deleted or its text changes, every record that names it in `derived_from`, directly or through
/// others, is deleted in the same transaction, at any address of the user (cascade deletion). The tombstones of these
/// records are marked as [cascade-deleted](Tombstone::cascade_deleted), and their other sources are queued for the
/// [job that derives such records](Job::making).
///
/// # Cancel safety
/// If a future is dropped, the call either has no effect or completes. It is never applied in part.
#[async_trait]
pub trait RecordStore: Debug + Send + Sync + 'static {
    /// Writes records, all or none. Returns the result of each write, in their order.
    ///
    /// The address of each record must be within `scope`. If a batch writes a record twice, the second write sees the
    /// effect of the first. A deleted record is not written again: its write is [`Outcome::Blocked`], see
    /// [`Tombstone`].
    ///
    /// A new record is queued for the jobs in [`WriteResult::pending`], and so is one with a changed text, [named
    /// speaker](Record::named_speaker) or [indexed](Record::is_indexed) state. A record that is no longer indexed is
    /// removed from the derived indexes and the queue. If the text of a record is replaced, the records that were
    /// derived from the old text are deleted, unless the same batch writes them: see [`WriteResult::cascade_deleted`].
    ///
    /// # Errors
    /// `InvalidInput` for a record that fails [`Record::validate`]; `Unauthorized` for an address outside of `scope`;
    /// `Conflict` if the [`PutMode`] requires it, the address of a stored record would change, or a
    /// [precondition](Write::based_on) of a write fails; `NotFound` for an update of a missing record. Nothing is
    /// written then.
    async fn put(&self, scope: &Scope, writes: Vec<Write>) -> Result<Vec<WriteResult>>;

    /// Returns the records with these ids, in the same order; `None` for an id without a record within `scope`.
    ///
    /// # Errors
    /// `Corrupt` if one of them [cannot be read](DamagedRecord); the message names it.
    async fn get(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<Record>>>;

    /// Deletes the records with these ids and the records derived from them, in one transaction, from every index of
    /// this backend, and leaves a tombstone for each. Returns the numbers of removed items, without those of indexes
    /// outside of this backend. If `scope` covers several users with a record of the same id, all of them are
    /// deleted. The contents of the records are not read, so that [damaged ones](DamagedRecord) are deleted as well.
    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<DeletionReport>;

    /// Deletes the records of the users within `scope` that no scan and no id finds, because their address or their id
    /// is damaged. For the deletion of everything of a user or a tenant. The default implementation deletes nothing.
    async fn delete_unreachable(&self, _scope: &Scope) -> Result<DeletionReport> {
        Ok(DeletionReport::default())
    }

    /// Returns the values of the stored rows of these records, by column, for a person who has to save a [damaged
    /// record](DamagedRecord). The default implementation returns none.
    async fn raw_rows(&self, _scope: &Scope, _ids: &[RecordId]) -> Result<Vec<serde_json::Value>> {
        Ok(Vec::new())
    }

    /// Returns a page of records, ordered by [`position`](Record::position).
    ///
    /// A record that cannot be read does not fail the scan: it is in [`Page::damaged`].
    ///
    /// A position is unique within a user. If `scope` covers two users with records of the same position, a page may
    /// end between these records, and the next page begins after both. To read every record, scan user by user.
    ///
    /// # Errors
    /// `InvalidInput` for a filter that fails [`Filter::validate`].
    async fn scan(&self, scope: &Scope, query: &ScanQuery) -> Result<Page>;

    /// Returns the ids of records derived from these, directly or through others, in any state, within `scope`.
    /// Sorted by id.
    async fn derived(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<RecordId>>;

    /// Returns for each id the active records of the same kind directly before and after it, by position, at exactly
    /// the same address.
    async fn adjacent(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Adjacent>>;

    /// Returns the groups of the records within `scope`, in any state, ordered by address, kind, state and application.
    /// The default implementation reads all records within `scope` at once. A store that counts its writes answers in
    /// a time that depends on the number of groups alone.
    async fn record_groups(&self, scope: &Scope) -> Result<Vec<RecordGroup>> {
        let records = self.scan(scope, &ScanQuery::oldest(usize::MAX)).await?.records;
        Ok(RecordGroup::collect(&records))
    }

    /// Counts the records within `scope`, in any state, by the period in which they occurred and by kind. Ordered by
    /// both; periods without records are left out. The default implementation reads all records within `scope` at once.
    async fn period_counts(&self, scope: &Scope, periods: Periods) -> Result<Vec<PeriodCount>> {
        let records = self.scan(scope, &ScanQuery::oldest(usize::MAX)).await?.records;
        Ok(periods.count(&records))
    }

    /// Returns the statistics of a scope.
    async fn stats(&self, scope: &Scope) -> Result<Stats>;

    /// Returns the first `limit` tombstones with an id greater than `after`, ordered by id.
    async fn tombstones(&self, scope: &Scope, after: Option<RecordId>, limit: usize) -> Result<Vec<Tombstone>>;

    /// Applies tombstones of another store: deletes their records and blocks them from now on. Returns the number of
    /// new tombstones.
    ///
    /// A tombstone is skipped if a record at another address has its id. Of two tombstones with the same id, the later
    /// one is stored, and the contents of both stay blocked. Records that were derived from the deleted ones are
    /// deleted, too, and not counted.
    ///
    /// # Errors
    /// `Unauthorized` for a tombstone outside of `scope`. None is applied then.
    async fn import_tombstones(&self, scope: &Scope, tombstones: &[Tombstone]) -> Result<u64>;

    /// Returns the addresses and ids of the first `limit` records that have [expired](Record::is_expired) at `now`, in
    /// any state, in the order of their expiry. Serves all tenants.
    ///
    /// The store returns expired records like others until they are deleted; the engine leaves them out of every read.
    async fn expired(&self, now: Timestamp, limit: usize) -> Result<Vec<(Scope, RecordId)>>;

    /// Removes the tombstones of these ids within `scope`, and lets their contents be stored again unless another
    /// tombstone blocks them. Returns the number of removed tombstones. For records whose deletion need not be
    /// remembered, such as expired ones.
    async fn remove_tombstones(&self, scope: &Scope, ids: &[RecordId]) -> Result<u64>;

    /// Returns the audit log in the database of this store, if it has one. Calls of this store are not logged: the
    /// engine logs them, if [auditing](crate::audit) is on. The default implementation returns `None`.
    fn audit_log(&self) -> Option<Arc<dyn AuditLog>> {
        None
    }

    /// Searches everything that this store keeps for traces of deleted records. Changes nothing. Serves all tenants.
    ///
    /// The default implementation reads the records of the users and their tombstones through the other calls. A store
    /// that can read its tables, indexes and files searches these.
    async fn find_residue(&self, probes: &ResidueProbes) -> Result<ResidueReport> {
        let mut report = ResidueReport::new("a store of the application");
        report.limits.push("tables, indexes and files of the store: it was searched through its calls only".to_owned());
        let contents = probes.contents();
        let search = probes.byte_search();
        let mut records = SearchedPlace::new(PlaceKind::Table, "records");
        let mut derived = SearchedPlace::new(PlaceKind::Table, "derived records");
        let mut tombstones =
            SearchedPlace::new(PlaceKind::Table, "tombstones").with_kept_ids("a tombstone blocks the id");
        for namespace in probes.namespaces() {
            let of_user = probes.records.iter().filter(|probe| probe.namespace == *namespace);
            let ids: Vec<RecordId> = of_user.map(|probe| probe.id).collect();
            let deleted: BTreeSet<RecordId> = ids.iter().copied().collect();
            let mut query = ScanQuery::oldest(RESIDUE_PAGE_IDS);
            loop {
                let page = self.scan(namespace, &query).await?;
                records.searched += page.records.len() as u64;
                for record in page.records.iter().filter(|record| !deleted.contains(&record.id)) {
                    records.ids += record.derived_from.iter().filter(|source| deleted.contains(source)).count() as u64;
                    if let Some(cascade_deleted) = contents.find(namespace, &record.content_hash()) {
                        report.add_copy(record.id, Tombstone::blocks_content_for(record.trust, cascade_deleted));
                    }
                    let metadata = serde_json::to_string(&record.metadata).unwrap_or_default();
                    for bytes in [record.text.as_bytes(), metadata.as_bytes()] {
                        let is_text = |trace: Trace| matches!(trace, Trace::Text(_));
                        search.search(bytes, &mut |trace| records.shared += u64::from(is_text(trace)));
                    }
                }
                query.after = page.next;
                if query.after.is_none() {
                    break;
                }
            }
            for page in ids.chunks(RESIDUE_PAGE_IDS) {
                records.ids += self.get(namespace, page).await?.iter().flatten().count() as u64;
                derived.searched += page.len() as u64;
                derived.ids += self.derived(namespace, page).await?.len() as u64;
            }
            let mut missing = deleted;
            let mut after = None;
            loop {
                let page = self.tombstones(namespace, after, RESIDUE_PAGE_IDS).await?;
                let Some(last) = page.last() else { break };
                after = Some(last.id);
                tombstones.searched += page.len() as u64;
                tombstones.ids += page.iter().map(|tombstone| u64::from(missing.remove(&tombstone.id))).sum::<u64>();
            }
            report.missing_tombstones.extend(missing);
        }
        report.places = vec![records, derived, tombstones];
        report.sort();
        Ok(report)
    }

    /// Waits for running calls, and releases connections, threads and files. Later calls fail with `Closed`. A second
    /// call has no effect. The default implementation does nothing; such a store is closed when it is dropped.
    async fn close(&self) {}
}

/// Number of ids of one call of the default search for traces.
const RESIDUE_PAGE_IDS: usize = 500;

const _: fn(&dyn RecordStore) = |_| {};

/// Marks a record as deleted and prevents that it is stored again. Does not contain its text.
///
/// A tombstone blocks the id permanently. Within the same user it also blocks imported and derived records with the
/// same content, which would restore the deleted data. New statements of a person, a model or a tool are not blocked
/// ([`Trust::User`], [`Trust::Assistant`], [`Trust::Tool`]). The content of a [cascade-deleted](Self::cascade_deleted)
/// record may be derived again from other records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Tombstone {
    /// The record's id.
    pub id: RecordId,
    /// The record's address.
    pub scope: Scope,
    /// The hash of the record's text.
    #[serde(with = "hash_as_text")]
    pub content_hash: ContentHash,
    /// The time of the deletion.
    pub deleted_at: Timestamp,
    /// True for a cascade deletion: a source of the record was deleted or changed. False if the record itself was
    /// deleted.
    #[serde(default)]
    pub cascade_deleted: bool,
}

impl Tombstone {
    /// Creates the tombstone of a deleted record, not cascade-deleted.
    pub fn new(id: RecordId, scope: Scope, content_hash: ContentHash, deleted_at: Timestamp) -> Self {
        Self { id, scope, content_hash, deleted_at, cascade_deleted: false }
    }

    /// Sets [`cascade_deleted`](Self::cascade_deleted).
    #[must_use]
    pub fn with_cascade_deleted(mut self, cascade_deleted: bool) -> Self {
        self.cascade_deleted = cascade_deleted;
        self
    }

    /// Returns true if a tombstone blocks records of this trust with the same content.
    pub fn blocks_content_for(trust: Trust, cascade_deleted: bool) -> bool {
        match trust {
            Trust::Import => true,
            Trust::Derived => !cascade_deleted,
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
    /// Filter that the records must match. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<Filter>,
    /// Order of the records. Default: oldest first.
    pub order: Order,
    /// Position after which the page begins. Default: none, for the first page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Cursor>,
    /// Number of records to skip before the page. Default: 0.
    pub skip: usize,
    /// Maximum number of records of the page; 0 for an empty page. Default: 100.
    pub limit: usize,
    /// True if [`Page::total`] is computed. Default: false.
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

    crate::setters! {
        #![must_use]
        /// Restricts to records that match this filter.
        with_filter(filter: Filter) => filter = Some(filter);
        /// Begins the page after this position, in the order of the query.
        with_after(after: Option<Cursor>);
        /// Skips records before the page, for numbered pages. The store reads the skipped records;
        /// [`with_after`](Self::with_after) is faster for consecutive pages.
        with_skip(skip: usize);
    }

    /// Also computes the total number of matching records.
    #[must_use]
    pub fn counted(mut self) -> Self {
        self.counted = true;
        self
    }
}

/// The order of records in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Oldest record first.
    #[default]
    OldestFirst,
    /// Newest record first.
    NewestFirst,
}

crate::enum_names! {
    Order, "order" {
        OldestFirst => "oldest_first",
        NewestFirst => "newest_first",
    }
}

/// A position in the order of records.
///
/// As text and in JSON it is an opaque token of letters, digits, `-` and `_`, which is safe in URLs.
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
    /// The sequence number of the record.
    pub sequence: i64,
    /// The id of the record.
    pub id: RecordId,
}

impl Cursor {
    /// Returns the position of a record.
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
    /// The position after which the next page begins; `None` for the last page.
    pub next: Option<Cursor>,
    /// Number of records that match the filter, on all pages; `None` unless the query [counts](ScanQuery::counted).
    pub total: Option<u64>,
    /// The records of the page that cannot be read. They count towards the limit and the total.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<DamagedRecord>,
}

impl Page {
    /// Creates a page without a total and without damaged records.
    pub fn new(records: Vec<Record>, next: Option<Cursor>) -> Self {
        Self { records, next, total: None, damaged: Vec::new() }
    }

    /// Sets the number of records that match, on all pages.
    #[must_use]
    pub fn with_total(mut self, total: Option<u64>) -> Self {
        self.total = total;
        self
    }
}

/// The records before and after a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Adjacent {
    /// The record before it.
    pub previous: Option<Neighbor>,
    /// The record after it.
    pub next: Option<Neighbor>,
}

/// A record directly before or after another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Neighbor {
    /// The id of the record.
    pub id: RecordId,
    /// True if its role or speaker differs from that of the other record, as for an answer.
    pub another_voice: bool,
}

impl Neighbor {
    /// Returns a neighbor of `record`.
    pub fn of(record: &Record, neighbor: &Record) -> Self {
        let another_voice = record.role != neighbor.role || record.speaker != neighbor.speaker;
        Self { id: neighbor.id, another_voice }
    }
}

/// Statistics of a scope.
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
    pub queued: BTreeMap<Job, u64>,
    /// The time at which the oldest waiting record was queued, for each job.
    pub waiting_since: BTreeMap<Job, Timestamp>,
    /// Number of dead letters of each job: records for which it has failed too often.
    pub dead_letters: BTreeMap<Job, u64>,
    /// The time at which the oldest record occurred.
    pub oldest: Option<Timestamp>,
    /// The time at which the newest record occurred.
    pub newest: Option<Timestamp>,
}

impl Stats {
    /// Adds groups, ordered by address.
    pub fn add_groups(&mut self, groups: Vec<RecordGroup>) {
        let mut previous_scope: Option<Scope> = None;
        for group in groups {
            self.addresses += u64::from(previous_scope.as_ref() != Some(&group.scope));
            self.records += group.records;
            *self.kinds.entry(group.kind.as_str().to_owned()).or_default() += group.records;
            *self.states.entry(group.state.as_str().to_owned()).or_default() += group.records;
            self.oldest = Some(self.oldest.map_or(group.oldest, |time| time.min(group.oldest)));
            self.newest = Some(self.newest.map_or(group.newest, |time| time.max(group.newest)));
            previous_scope = Some(group.scope);
        }
    }
}
