//! The tables of the in-memory store.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
    time::Duration,
};

use super::{
    job_table::JobTable,
    record_key::{RecordKey, key},
};
use crate::{
    error::Result,
    id::RecordId,
    record::{ContentHash, Kind, Record, State},
    residue::{PlaceKind, ResidueProbe, ResidueProbes, ResidueReport, SearchedPlace, Trace},
    scope::Scope,
    store::{
        Adjacent, Basis, BlockReason, Decision, Done, Failure, Job, Neighbor, Outcome, Pending, PutMode, RemovalCounts,
        Tombstone, Write, WriteResult,
    },
    time::Timestamp,
};

/// The sort key of records: [`Record::position`].
type Position = (Timestamp, i64, RecordId);

const MIN_ID: RecordId = RecordId::from_bytes([0; 16]);
const MAX_ID: RecordId = RecordId::from_bytes([255; 16]);

#[derive(Debug, Default)]
pub(super) struct RecordTables {
    records: BTreeMap<RecordKey, Record>,
    /// Positions of the active records of each address and kind.
    positions: BTreeMap<(Scope, Kind), BTreeSet<Position>>,
    /// Pairs of a source and the id of a record that is directly derived from it.
    derivations: BTreeSet<(RecordKey, RecordId)>,
    tombstones: BTreeMap<RecordKey, Tombstone>,
    /// Hashes of deleted contents. The value is true if all records with the content were only cascade-deleted.
    deleted_contents: BTreeMap<(Scope, ContentHash), bool>,
    jobs: JobTable,
}

/// A write that was checked, so that it can no longer fail.
pub(super) struct PlannedWrite {
    id: RecordId,
    outcome: Outcome,
    revision: u64,
    /// `None` if nothing is stored.
    change: Option<PlannedChange>,
}

/// The record that a write stores.
struct PlannedChange {
    record: Record,
    reindex: bool,
    /// True if the records that are derived from the old text are deleted.
    deletes_derived: bool,
    jobs: Vec<Job>,
}

impl PlannedWrite {
    pub(super) fn id(&self) -> RecordId {
        self.id
    }

    /// Returns the key of the record if the write changes its text, so that derived records must be deleted.
    pub(super) fn changed_source(&self) -> Option<RecordKey> {
        self.change.as_ref().filter(|change| change.deletes_derived).map(|change| key(&change.record))
    }
}

impl RecordTables {
    /// Returns the records within a scope.
    pub(super) fn within<'a>(&'a self, scope: &'a Scope) -> impl Iterator<Item = &'a Record> {
        let rows = match scope.user_name() {
            Some(_) => {
                let namespace = scope.namespace();
                self.records.range((namespace.clone(), MIN_ID)..=(namespace, MAX_ID))
            }
            None => self.records.range::<RecordKey, _>(..),
        };
        rows.map(|(_, record)| record).filter(move |record| scope.covers(&record.scope))
    }

    /// Returns all records, of every tenant.
    pub(super) fn all(&self) -> impl Iterator<Item = &Record> {
        self.records.values()
    }

    /// Returns all records with this id within a scope: at most one per user.
    pub(super) fn find_all(&self, scope: &Scope, id: RecordId) -> Vec<Record> {
        match scope.user_name() {
            Some(_) => self.find(scope, id).cloned().into_iter().collect(),
            None => self.within(scope).filter(|record| record.id == id).cloned().collect(),
        }
    }

    /// Returns the record with this id within a scope: that of the first user, if the scope covers several.
    pub(super) fn find<'a>(&'a self, scope: &Scope, id: RecordId) -> Option<&'a Record> {
        if scope.user_name().is_some() {
            return self.records.get(&(scope.namespace(), id)).filter(|record| scope.covers(&record.scope));
        }
        self.records.values().find(|record| record.id == id && scope.covers(&record.scope))
    }

    pub(super) fn record(&self, key: &RecordKey) -> Option<&Record> {
        self.records.get(key)
    }

    /// Returns the records derived from a record, directly or through others.
    pub(super) fn derived(&self, key: &RecordKey) -> BTreeSet<RecordKey> {
        let mut found = BTreeSet::new();
        let mut unvisited = vec![key.clone()];
        while let Some(source) = unvisited.pop() {
            for (_, id) in self.derivations.range((source.clone(), MIN_ID)..=(source, MAX_ID)) {
                let derived = (key.0.clone(), *id);
                if derived != *key && found.insert(derived.clone()) {
                    unvisited.push(derived);
                }
            }
        }
        found
    }

    /// Returns the active records directly before and after a record.
    pub(super) fn adjacent(&self, record: &Record) -> Adjacent {
        let address_and_kind = (record.scope.clone(), record.kind.clone());
        let Some(positions) = self.positions.get(&address_and_kind) else { return Adjacent::default() };
        let position = record.position();
        let after = (Bound::Excluded(position), Bound::Unbounded);
        let namespace = record.scope.namespace();
        let neighbor =
            |(.., id): &Position| self.records.get(&(namespace.clone(), *id)).map(|other| Neighbor::of(record, other));
        Adjacent {
            previous: positions.range(..position).next_back().and_then(neighbor),
            next: positions.range(after).next().and_then(neighbor),
        }
    }

    pub(super) fn tombstones_within<'a>(&'a self, scope: &'a Scope) -> impl Iterator<Item = &'a Tombstone> {
        self.tombstones.values().filter(move |tombstone| scope.covers(&tombstone.scope))
    }

    fn block_reason(&self, record: &Record, may_block_content: bool) -> Option<BlockReason> {
        if self.tombstones.contains_key(&key(record)) {
            return Some(BlockReason::Id);
        }
        (may_block_content && self.is_content_blocked(record)).then_some(BlockReason::Content)
    }

    fn is_content_blocked(&self, record: &Record) -> bool {
        let only_cascaded = self.deleted_contents.get(&(record.scope.namespace(), record.content_hash()));
        only_cascaded.is_some_and(|only_cascaded| Tombstone::blocks_content_for(record.trust, *only_cascaded))
    }

    /// Checks a write. `planned` holds the records that earlier writes of the batch will store; adds the one of this
    /// write.
    pub(super) fn plan(
        &self,
        write: Write,
        planned: &mut BTreeMap<RecordKey, Record>,
        now: Timestamp,
    ) -> Result<PlannedWrite> {
        let id = write.record.id;
        let key = key(&write.record);
        let jobs = write.pending();
        let current = |key: &RecordKey| planned.get(key).or_else(|| self.records.get(key));
        for precondition in &write.based_on {
            let source = current(&(key.0.clone(), precondition.id)).filter(|source| source.is_indexed());
            Basis::check(*precondition, source.map(|source| source.revision))?;
        }
        // The content of a replica may be blocked by the tombstone of another record of its own store.
        let may_block_content = !matches!(write.mode, PutMode::Replica { .. });
        let unchanged = |outcome, revision| PlannedWrite { id, outcome, revision, change: None };
        let write = match Decision::of(write.mode, write.record, current(&key), now)? {
            Decision::Keep(revision) => unchanged(Outcome::Unchanged, revision),
            Decision::Insert(record) => match self.block_reason(&record, may_block_content) {
                Some(reason) => unchanged(Outcome::Blocked(reason), 0),
                None => {
                    let revision = record.revision;
                    let change = PlannedChange { record: *record, reindex: true, deletes_derived: false, jobs };
                    PlannedWrite { id, outcome: Outcome::Created, revision, change: Some(change) }
                }
            },
            Decision::Replace { record, reindex: true, .. }
                if may_block_content && record.is_indexed() && self.is_content_blocked(&record) =>
            {
                unchanged(Outcome::Blocked(BlockReason::Content), record.revision - 1)
            }
            Decision::Replace { record, reindex, withdraw } => {
                let revision = record.revision;
                let change = PlannedChange { record: *record, reindex, deletes_derived: withdraw, jobs };
                PlannedWrite { id, outcome: Outcome::Updated, revision, change: Some(change) }
            }
        };
        if let Some(change) = &write.change {
            planned.insert(key, change.record.clone());
        }
        Ok(write)
    }

    /// Stores the record of a planned write, and queues its jobs.
    pub(super) fn apply(&mut self, write: PlannedWrite, now: Timestamp) -> WriteResult {
        let mut result = WriteResult::new(write.id, write.outcome, write.revision, Vec::new());
        let Some(PlannedChange { record, reindex, jobs, .. }) = write.change else { return result };
        let key = key(&record);
        self.remove_references(&key);
        self.add_references(&key, &record);
        if reindex {
            self.jobs.remove(&key);
            jobs.iter().for_each(|job| self.jobs.enqueue(*job, &key, now));
            result.pending = jobs;
        }
        self.records.insert(key, record);
        result
    }

    /// Adds a record to the positions and derivations.
    fn add_references(&mut self, key: &RecordKey, record: &Record) {
        if record.state == State::Active {
            let address_and_kind = (record.scope.clone(), record.kind.clone());
            self.positions.entry(address_and_kind).or_default().insert(record.position());
        }
        for source in &record.derived_from {
            self.derivations.insert(((key.0.clone(), *source), key.1));
        }
    }

    /// Removes the stored record from the positions and derivations.
    fn remove_references(&mut self, key: &RecordKey) {
        let Some(old) = self.records.get(key) else { return };
        let address_and_kind = (old.scope.clone(), old.kind.clone());
        if let Some(positions) = self.positions.get_mut(&address_and_kind) {
            positions.remove(&old.position());
            if positions.is_empty() {
                self.positions.remove(&address_and_kind);
            }
        }
        for source in &old.derived_from {
            self.derivations.remove(&((key.0.clone(), *source), key.1));
        }
    }

    /// Deletes a record and stores a tombstone.
    pub(super) fn delete(&mut self, record: &Record, deleted_at: Timestamp, removed: &mut RemovalCounts) {
        let tombstone = Tombstone::new(record.id, record.scope.clone(), record.content_hash(), deleted_at);
        self.apply_tombstone(&tombstone, removed);
    }

    /// Deletes the records derived from these sources, except `kept`, and queues their other sources for the jobs that
    /// derive such records. Returns the ids of the deleted records.
    pub(super) fn delete_derived(
        &mut self,
        namespace: &Scope,
        sources: &BTreeSet<RecordId>,
        kept: &BTreeSet<RecordId>,
        now: Timestamp,
        removed: &mut RemovalCounts,
    ) -> Vec<RecordId> {
        let derived: BTreeSet<RecordKey> =
            sources.iter().flat_map(|id| self.derived(&(namespace.clone(), *id))).collect();
        let deleted = derived.into_iter().filter(|(_, id)| !kept.contains(id) && !sources.contains(id));
        let deleted: Vec<Record> = deleted.filter_map(|key| self.records.get(&key)).cloned().collect();
        for record in &deleted {
            let tombstone = Tombstone::new(record.id, record.scope.clone(), record.content_hash(), now);
            self.apply_tombstone(&tombstone.with_cascade_deleted(true), removed);
        }
        for record in &deleted {
            let Some(job) = Job::making(&record.kind) else { continue };
            for source in record.derived_from.iter().filter(|source| !sources.contains(source)) {
                let source = (namespace.clone(), *source);
                if self.records.get(&source).is_some_and(Record::is_indexed) {
                    self.jobs.enqueue(job, &source, now);
                }
            }
        }
        deleted.into_iter().map(|record| record.id).collect()
    }

    /// Applies a tombstone of another store, unless a record at another address has its id. Returns true if the
    /// tombstone is new.
    pub(super) fn import_tombstone(&mut self, tombstone: &Tombstone, now: Timestamp) -> bool {
        let key = (tombstone.scope.namespace(), tombstone.id);
        if self.records.get(&key).is_some_and(|record| record.scope != tombstone.scope) {
            return false;
        }
        let mut removed = RemovalCounts::default();
        self.delete_derived(&key.0, &[key.1].into(), &BTreeSet::new(), now, &mut removed);
        self.apply_tombstone(tombstone, &mut removed)
    }

    /// Deletes the record of a tombstone and stores the tombstone. Returns true if it is new.
    fn apply_tombstone(&mut self, tombstone: &Tombstone, removed: &mut RemovalCounts) -> bool {
        let key = (tombstone.scope.namespace(), tombstone.id);
        self.remove_references(&key);
        removed.queued += self.jobs.remove(&key);
        if let Some(record) = self.records.remove(&key) {
            removed.count(record.kind.as_str());
        }
        let only_cascaded = self.deleted_contents.entry((key.0.clone(), tombstone.content_hash)).or_insert(true);
        *only_cascaded &= tombstone.cascade_deleted;
        let is_new = self.tombstones.insert(key, tombstone.clone()).is_none();
        removed.tombstones += u64::from(is_new);
        is_new
    }

    /// Removes tombstones within a scope, and unblocks contents that no other tombstone blocks. Returns their number.
    pub(super) fn remove_tombstones(&mut self, scope: &Scope, ids: &[RecordId]) -> u64 {
        let is_removed = |tombstone: &Tombstone| ids.contains(&tombstone.id) && scope.covers(&tombstone.scope);
        let removed: Vec<Tombstone> = self.tombstones.values().filter(|t| is_removed(t)).cloned().collect();
        self.tombstones.retain(|_, tombstone| !is_removed(tombstone));
        for tombstone in &removed {
            let namespace = tombstone.scope.namespace();
            let blocks_content = |(key, other): (&RecordKey, &Tombstone)| {
                key.0 == namespace && other.content_hash == tombstone.content_hash
            };
            if !self.tombstones.iter().any(blocks_content) {
                self.deleted_contents.remove(&(namespace.clone(), tombstone.content_hash));
            }
        }
        removed.len() as u64
    }

    /// Searches every table for deleted records. A new table has to be added here to compile.
    pub(super) fn find_residue(&self, probes: &ResidueProbes) -> ResidueReport {
        let Self { records, positions, derivations, tombstones, deleted_contents, jobs } = self;
        let is_deleted = |(namespace, id): &RecordKey| u64::from(probes.find(namespace, *id).is_some());
        let place = |name: &str, count: usize| {
            SearchedPlace::new(PlaceKind::Memory, name).with_searched(u64::try_from(count).unwrap_or(u64::MAX))
        };
        let mut report = ResidueReport::new("memory");
        let search = probes.byte_search();
        let contents = probes.contents();
        let covers = |key: &RecordKey| probes.covers(&key.0);
        let count = records.keys().filter(|key| covers(key)).count();
        let (mut rows, mut references) = (place("records", count), place("record references", count));
        references.keeps_ids = Some("a remaining record may name the id of a deleted one".to_owned());
        for (key, record) in records.iter().filter(|(key, _)| covers(key)) {
            rows.ids += is_deleted(key);
            if is_deleted(key) == 1 {
                continue;
            }
            let sources = record.derived_from.iter().map(|source| (key.0.clone(), *source));
            rows.ids += sources.map(|source| is_deleted(&source)).sum::<u64>();
            let metadata = serde_json::to_string(&record.metadata).unwrap_or_default();
            for bytes in [record.text.as_bytes(), metadata.as_bytes()] {
                search.search(bytes, &mut |trace| match trace {
                    Trace::Id(_) => references.ids += 1,
                    Trace::Text(_) => rows.shared += 1,
                });
            }
            if let Some(cascade_deleted) = contents.find(&key.0, &record.content_hash()) {
                report.add_copy(key.1, Tombstone::blocks_content_for(record.trust, cascade_deleted));
            }
        }
        let positions = || positions.iter().filter(|((scope, _), _)| probes.covers(&scope.namespace()));
        let mut by_position = place("positions", positions().map(|(_, set)| set.len()).sum());
        for ((scope, _), set) in positions() {
            by_position.ids += set.iter().map(|(.., id)| is_deleted(&(scope.namespace(), *id))).sum::<u64>();
        }
        let derivations = || derivations.iter().filter(|(source, _)| covers(source));
        let mut sources = place("derivations", derivations().count());
        for (source, id) in derivations() {
            sources.ids += is_deleted(source) + is_deleted(&(source.0.clone(), *id));
        }
        let mut queue = place("jobs and dead letters", jobs.keys().filter(|key| covers(key)).count());
        queue.ids = jobs.keys().map(is_deleted).sum();
        let mut marks = place("tombstones", tombstones.keys().filter(|key| covers(key)).count());
        marks.ids = tombstones.keys().map(is_deleted).sum();
        marks.keeps_ids = Some("a tombstone blocks the id of a deleted record".to_owned());
        let hashes = deleted_contents.keys().filter(|(namespace, _)| probes.covers(namespace)).count();
        let hashes = place("contents that tombstones block", hashes);
        let is_missing = |probe: &&ResidueProbe| !tombstones.contains_key(&(probe.namespace.clone(), probe.id));
        report.missing_tombstones = probes.records.iter().filter(is_missing).map(|probe| probe.id).collect();
        report.places = vec![rows, references, by_position, sources, queue, marks, hashes];
        if !probes.covers_database() {
            report.limits.push(ResidueReport::USERS_LIMIT.to_owned());
        }
        report.sort();
        report
    }

    /// Queues a job of these records. Returns their number.
    pub(super) fn enqueue(&mut self, job: Job, keys: &[RecordKey], now: Timestamp) -> u64 {
        keys.iter().for_each(|key| self.jobs.enqueue(job, key, now));
        keys.len() as u64
    }

    /// Returns the queued jobs of a record with the time at which each was queued; `None` for a dead letter.
    pub(super) fn jobs_of(&self, record: &Record) -> impl Iterator<Item = (Job, Option<Timestamp>)> {
        let items = self.jobs.items_of(key(record));
        items.map(|(job, item)| (job, Some(item.queued_at).filter(|_| !item.is_dead_letter())))
    }

    pub(super) fn claim(&mut self, job: Job, limit: usize, lease: Duration, now: Timestamp) -> Vec<Pending> {
        let mut pending = Vec::new();
        for (ticket, item) in self.jobs.claim(job, limit, lease, now) {
            if let Some(record) = self.records.get(&item.key).cloned() {
                pending.push(Pending { ticket, record, job, attempts: item.attempts, queued_at: item.queued_at });
            }
        }
        pending
    }

    pub(super) fn extend_lease(&mut self, claimed: &Pending, until: Timestamp) {
        self.jobs.extend_lease(claimed.job, claimed.ticket, until);
    }

    /// Stores a failure, unless the record has changed.
    pub(super) fn fail(&mut self, failure: &Failure, now: Timestamp) {
        let key = (failure.scope.namespace(), failure.id);
        if self.is_current(&key, failure.revision) {
            self.jobs.fail(key, failure, now);
        }
    }

    /// Returns the failed jobs, longest waiting first.
    pub(super) fn failures(&self) -> impl Iterator<Item = Failure> {
        self.jobs.oldest_first().filter_map(|(job, item)| {
            let reason = item.reason.clone()?;
            let record = self.records.get(&item.key)?;
            let failure = Failure::new(record.id, record.scope.clone(), job, record.revision, reason);
            Some(failure.with_attempts(item.attempts).with_retry_at(item.retry_at()))
        })
    }

    /// Removes a completed job from the queue, if the record has not changed. Returns true if it has not.
    pub(super) fn complete(&mut self, done: &Done) -> bool {
        let key = (done.scope.namespace(), done.id);
        let is_current = self.is_current(&key, done.revision);
        if is_current {
            self.jobs.complete(done.job, key, done.ticket);
        }
        is_current
    }

    fn is_current(&self, key: &RecordKey, revision: u64) -> bool {
        self.records.get(key).is_some_and(|record| record.revision == revision)
    }
}
