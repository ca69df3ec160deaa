//! The tables of the in-memory store.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use crate::{
    error::Result,
    id::RecordId,
    record::{ContentHash, Kind, Record, State},
    scope::Scope,
    store::{
        Adjacent, Basis, BlockReason, Decision, Done, Failure, Job, Neighbor, Outcome, Pending, RemovalCounts, Ticket,
        Tombstone, Write, WriteResult,
    },
    time::Timestamp,
};

/// Identifies a record by namespace and id.
pub(super) type Key = (Scope, RecordId);

/// A record's place in the order of things.
type Position = (Timestamp, i64, RecordId);

/// The key of a record.
pub(super) fn key(record: &Record) -> Key {
    (record.scope.namespace(), record.id)
}

const MIN_ID: RecordId = RecordId::from_bytes([0; 16]);
const MAX_ID: RecordId = RecordId::from_bytes([255; 16]);

#[derive(Debug, Default)]
pub(super) struct Tables {
    records: BTreeMap<Key, Record>,
    /// The active records of each address and kind in their order.
    order: BTreeMap<(Scope, Kind), BTreeSet<Position>>,
    /// The records directly derived from each record.
    made_from: BTreeSet<(Key, RecordId)>,
    tombstones: BTreeMap<Key, Tombstone>,
    /// Hashes of deleted contents; true if the record was only deleted in a cascade.
    buried: BTreeMap<(Scope, ContentHash), bool>,
    queue: BTreeMap<(Job, u64), Item>,
    tickets: BTreeMap<(Job, Key), u64>,
    next_ticket: u64,
}

/// A place in the queue.
#[derive(Debug)]
struct Item {
    key: Key,
    /// Until when it is hidden.
    hidden_until: Timestamp,
    attempts: u32,
    reason: Option<String>,
    queued_at: Timestamp,
}

const FREE: Timestamp = Timestamp::from_micros(i64::MIN);
const GIVEN_UP: Timestamp = Timestamp::from_micros(i64::MAX);

/// A write that has been decided and cannot fail any more.
pub(super) struct Step {
    id: RecordId,
    outcome: Outcome,
    revision: u64,
    store: Option<Store>,
}

struct Store {
    record: Record,
    reindex: bool,
    withdraw: bool,
    jobs: Vec<Job>,
}

impl Step {
    pub(super) fn id(&self) -> RecordId {
        self.id
    }

    /// The record that will say something else than before.
    pub(super) fn changed(&self) -> Option<Key> {
        self.store.as_ref().filter(|store| store.withdraw).map(|store| key(&store.record))
    }
}

impl Tables {
    pub(super) fn within<'a>(&'a self, scope: &'a Scope) -> impl Iterator<Item = &'a Record> {
        let namespace = scope.user_name().map(|_| scope.namespace());
        let (some, all) = match namespace {
            Some(space) => (Some(self.records.range((space.clone(), MIN_ID)..=(space, MAX_ID))), None),
            None => (None, Some(self.records.iter())),
        };
        let rows = some.into_iter().flatten().chain(all.into_iter().flatten());
        rows.map(|(_, record)| record).filter(move |record| scope.covers(&record.scope))
    }

    /// Every record of this id within the scope: one, but for a scope that covers several users.
    pub(super) fn all(&self, scope: &Scope, id: RecordId) -> Vec<Record> {
        match scope.user_name() {
            Some(_) => self.find(scope, id).cloned().into_iter().collect(),
            None => self.within(scope).filter(|record| record.id == id).cloned().collect(),
        }
    }

    pub(super) fn find<'a>(&'a self, scope: &Scope, id: RecordId) -> Option<&'a Record> {
        if scope.user_name().is_some() {
            return self.records.get(&(scope.namespace(), id)).filter(|record| scope.covers(&record.scope));
        }
        self.records.values().find(|record| record.id == id && scope.covers(&record.scope))
    }

    pub(super) fn record(&self, key: &Key) -> Option<&Record> {
        self.records.get(key)
    }

    /// Returns the records derived from a record, directly or through others.
    pub(super) fn derived(&self, key: &Key) -> BTreeSet<Key> {
        let (mut found, mut open) = (BTreeSet::new(), vec![key.clone()]);
        while let Some(source) = open.pop() {
            for (_, id) in self.made_from.range((source.clone(), MIN_ID)..=(source, MAX_ID)) {
                let made = (key.0.clone(), *id);
                if made != *key && found.insert(made.clone()) {
                    open.push(made);
                }
            }
        }
        found
    }

    pub(super) fn beside(&self, record: &Record) -> Adjacent {
        let place = record.position();
        let row = (record.scope.clone(), record.kind.clone());
        let Some(order) = self.order.get(&row) else { return Adjacent::default() };
        let after = (std::ops::Bound::Excluded(place), std::ops::Bound::Unbounded);
        let namespace = record.scope.namespace();
        let neighbor = |(.., id): &(Timestamp, i64, RecordId)| {
            self.records.get(&(namespace.clone(), *id)).map(|other| Neighbor::of(record, other))
        };
        Adjacent {
            previous: order.range(..place).next_back().and_then(neighbor),
            next: order.range(after).next().and_then(neighbor),
        }
    }

    pub(super) fn tombstones_within<'a>(&'a self, scope: &'a Scope) -> impl Iterator<Item = &'a Tombstone> {
        self.tombstones.values().filter(move |t| scope.covers(&t.scope))
    }

    fn barred(&self, record: &Record) -> Option<BlockReason> {
        if self.tombstones.contains_key(&key(record)) {
            return Some(BlockReason::Id);
        }
        self.bars_content(record).then_some(BlockReason::Content)
    }

    fn bars_content(&self, record: &Record) -> bool {
        let buried = self.buried.get(&(record.scope.namespace(), record.content_hash()));
        buried.is_some_and(|withdrawn| Tombstone::bars_content_for(record.trust, *withdrawn))
    }

    /// Decides a write; `decided` holds what earlier writes of the batch will have stored.
    pub(super) fn decide(&self, write: Write, decided: &mut BTreeMap<Key, Record>) -> Result<Step> {
        let (id, key, jobs) = (write.record.id, key(&write.record), write.pending());
        let stored = |key: &Key| decided.get(key).or_else(|| self.records.get(key));
        for basis in &write.based_on {
            let source = stored(&(key.0.clone(), basis.id)).filter(|source| source.is_indexed());
            Basis::check(*basis, source.map(|source| source.revision))?;
        }
        let old = stored(&key);
        let step = match Decision::of(write.mode, write.record, old)? {
            Decision::Keep(revision) => Step { id, outcome: Outcome::Unchanged, revision, store: None },
            Decision::Insert(record) => match self.barred(&record) {
                Some(barred) => Step { id, outcome: Outcome::Blocked(barred), revision: 0, store: None },
                None => {
                    let store = Store { record: *record, reindex: true, withdraw: false, jobs };
                    Step { id, outcome: Outcome::Created, revision: 1, store: Some(store) }
                }
            },
            Decision::Replace { record, reindex: true, .. } if record.is_indexed() && self.bars_content(&record) => {
                let outcome = Outcome::Blocked(BlockReason::Content);
                Step { id, outcome, revision: record.revision - 1, store: None }
            }
            Decision::Replace { record, reindex, withdraw } => {
                let revision = record.revision;
                let store = Store { record: *record, reindex, withdraw, jobs };
                Step { id, outcome: Outcome::Updated, revision, store: Some(store) }
            }
        };
        if let Some(Store { record, .. }) = &step.store {
            decided.insert(key, record.clone());
        }
        Ok(step)
    }

    pub(super) fn carry_out(&mut self, step: Step, now: Timestamp) -> WriteResult {
        let mut written = WriteResult::new(step.id, step.outcome, step.revision, Vec::new());
        let Some(Store { record, reindex, jobs, .. }) = step.store else { return written };
        let key = key(&record);
        self.unlink(&key);
        self.link(&key, &record);
        if reindex {
            self.unqueue(&key);
            jobs.iter().for_each(|job| self.enqueue(*job, &key, now));
            written.pending = jobs;
        }
        self.records.insert(key, record);
        written
    }

    fn link(&mut self, key: &Key, record: &Record) {
        if record.state == State::Active {
            let row = (record.scope.clone(), record.kind.clone());
            self.order.entry(row).or_default().insert(record.position());
        }
        for source in &record.derived_from {
            self.made_from.insert(((key.0.clone(), *source), key.1));
        }
    }

    fn unlink(&mut self, key: &Key) {
        let Some(old) = self.records.get(key) else { return };
        let row = (old.scope.clone(), old.kind.clone());
        if let Some(order) = self.order.get_mut(&row) {
            order.remove(&old.position());
            if order.is_empty() {
                self.order.remove(&row);
            }
        }
        for source in &old.derived_from {
            self.made_from.remove(&((key.0.clone(), *source), key.1));
        }
    }

    /// Removes a record and leaves a tombstone.
    pub(super) fn remove(&mut self, record: &Record, deleted_at: Timestamp, removed: &mut RemovalCounts) {
        let (id, scope, content_hash) = (record.id, record.scope.clone(), record.content_hash());
        self.entomb(&Tombstone { id, scope, content_hash, deleted_at, withdrawn: false }, removed);
    }

    /// Removes what was made from records, but for `kept`, and queues what else it was made from to be looked at again.
    pub(super) fn withdraw(
        &mut self,
        namespace: &Scope,
        ids: &BTreeSet<RecordId>,
        kept: &BTreeSet<RecordId>,
        now: Timestamp,
        removed: &mut RemovalCounts,
    ) -> Vec<RecordId> {
        let made: BTreeSet<Key> = ids.iter().flat_map(|id| self.derived(&(namespace.clone(), *id))).collect();
        let made = made.into_iter().filter(|(_, id)| !kept.contains(id) && !ids.contains(id));
        let made: Vec<Record> = made.filter_map(|key| self.records.get(&key)).cloned().collect();
        for record in &made {
            let content_hash = record.content_hash();
            let (id, scope) = (record.id, record.scope.clone());
            self.entomb(&Tombstone { id, scope, content_hash, deleted_at: now, withdrawn: true }, removed);
        }
        for record in &made {
            let Some(job) = Job::making(&record.kind) else { continue };
            for source in record.derived_from.iter().filter(|source| !ids.contains(source)) {
                let source = (namespace.clone(), *source);
                if self.records.get(&source).is_some_and(Record::is_indexed) {
                    self.enqueue(job, &source, now);
                }
            }
        }
        made.into_iter().map(|record| record.id).collect()
    }

    /// Takes in a tombstone of another store, unless its id belongs to a record at another address; whether it is new.
    pub(super) fn import_tombstones(&mut self, tombstone: &Tombstone, now: Timestamp) -> bool {
        let key = (tombstone.scope.namespace(), tombstone.id);
        if self.records.get(&key).is_some_and(|record| record.scope != tombstone.scope) {
            return false;
        }
        let mut removed = RemovalCounts::default();
        self.withdraw(&key.0, &[key.1].into(), &BTreeSet::new(), now, &mut removed);
        self.entomb(tombstone, &mut removed)
    }

    /// Removes what the tombstone names and keeps the tombstone; whether it is new.
    fn entomb(&mut self, tombstone: &Tombstone, removed: &mut RemovalCounts) -> bool {
        let key = (tombstone.scope.namespace(), tombstone.id);
        self.unlink(&key);
        removed.queued += self.unqueue(&key);
        if let Some(record) = self.records.remove(&key) {
            removed.count(record.kind.as_str());
        }
        let only_withdrawn = self.buried.entry((key.0.clone(), tombstone.content_hash)).or_insert(true);
        *only_withdrawn &= tombstone.withdrawn;
        let new = self.tombstones.insert(key, tombstone.clone()).is_none();
        removed.tombstones += u64::from(new);
        new
    }

    /// The jobs that a record waits for, and since when; `None` for one that was given up.
    pub(super) fn waits_for(&self, record: &Record) -> impl Iterator<Item = (Job, Option<Timestamp>)> {
        let key = key(record);
        Job::ALL.into_iter().filter_map(move |job| {
            let ticket = self.tickets.get(&(job, key.clone()))?;
            let item = self.queue.get(&(job, *ticket))?;
            Some((job, Some(item.queued_at).filter(|_| item.hidden_until != GIVEN_UP)))
        })
    }

    pub(super) fn enqueue(&mut self, job: Job, key: &Key, now: Timestamp) {
        self.next_ticket += 1;
        if let Some(old) = self.tickets.insert((job, key.clone()), self.next_ticket) {
            self.queue.remove(&(job, old));
        }
        let item = Item { key: key.clone(), hidden_until: FREE, attempts: 0, reason: None, queued_at: now };
        self.queue.insert((job, self.next_ticket), item);
    }

    /// Takes every job of a record off the queue, and counts them.
    fn unqueue(&mut self, key: &Key) -> u64 {
        let mut taken = 0;
        for job in Job::ALL {
            if let Some(ticket) = self.tickets.remove(&(job, key.clone())) {
                taken += u64::from(self.queue.remove(&(job, ticket)).is_some());
            }
        }
        taken
    }

    pub(super) fn claim(&mut self, job: Job, limit: usize, lease: Duration, now: Timestamp) -> Vec<Pending> {
        let free = self.queue.range_mut((job, 0)..=(job, u64::MAX)).filter(|(_, item)| item.hidden_until <= now);
        let mut pending = Vec::new();
        for ((_, ticket), item) in free.take(limit) {
            if !lease.is_zero() {
                item.hidden_until = now.after(lease);
            }
            let (attempts, queued_at) = (item.attempts, item.queued_at);
            let ticket = Ticket(u128::from(*ticket));
            let record = self.records.get(&item.key).cloned();
            pending.extend(record.map(|record| Pending { ticket, record, job, attempts, queued_at }));
        }
        pending
    }

    /// Hides what was claimed until then, if it is still the same place in the queue and was not given up.
    pub(super) fn extend_lease(&mut self, claimed: &Pending, until: Timestamp) {
        let ticket = u64::try_from(claimed.ticket.0).unwrap_or(u64::MAX);
        let item = self.queue.get_mut(&(claimed.job, ticket)).filter(|item| item.hidden_until != GIVEN_UP);
        if let Some(item) = item {
            item.hidden_until = until;
        }
    }

    pub(super) fn fail(&mut self, failure: &Failure) {
        let key = (failure.scope.namespace(), failure.id);
        let current = self.records.get(&key).is_some_and(|r| r.revision == failure.revision);
        let Some(ticket) = self.tickets.get(&(failure.job, key)).filter(|_| current) else { return };
        if let Some(item) = self.queue.get_mut(&(failure.job, *ticket)) {
            item.hidden_until = failure.retry_at.unwrap_or(GIVEN_UP);
            (item.attempts, item.reason) = (failure.attempts, Some(failure.reason.clone()));
        }
    }

    /// Returns the failed jobs, longest waiting first.
    pub(super) fn failures(&self) -> impl Iterator<Item = Failure> {
        let mut items: Vec<_> = self.queue.iter().map(|((job, ticket), item)| (*ticket, *job, item)).collect();
        items.sort_by_key(|(ticket, job, _)| (*ticket, *job));
        items.into_iter().filter_map(|(_, job, item)| {
            let (record, reason) = (self.records.get(&item.key)?, item.reason.clone()?);
            let retry_at = Some(item.hidden_until).filter(|until| *until != GIVEN_UP);
            let (id, scope, revision) = (record.id, record.scope.clone(), record.revision);
            Some(Failure { id, scope, job, revision, attempts: item.attempts, reason, retry_at })
        })
    }

    pub(super) fn complete(&mut self, done: &Done) -> bool {
        let key = (done.scope.namespace(), done.id);
        let current = self.records.get(&key).is_some_and(|r| r.revision == done.revision);
        let place = (done.job, key);
        let own = |ticket: &&u64| done.ticket.is_none_or(|own| own == Ticket(u128::from(**ticket)));
        if current && let Some(ticket) = self.tickets.get(&place).filter(own).copied() {
            self.tickets.remove(&place);
            self.queue.remove(&(done.job, ticket));
        }
        current
    }
}
