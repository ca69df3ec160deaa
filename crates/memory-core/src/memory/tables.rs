//! What the in-memory store holds.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use crate::{
    Adjacent, Barred, ContentHash, Decision, Done, Job, Neighbor, Outcome, Pending, Record, RecordId, Result, Scope,
    State, Timestamp, Tombstone, Write, Written,
};

/// Where a record is found: by namespace and id.
pub(super) type Key = (Scope, RecordId);

/// The key of a record.
pub(super) fn key(record: &Record) -> Key {
    (record.scope.namespace(), record.id)
}

const FIRST: RecordId = RecordId::from_bytes([0; 16]);
const LAST: RecordId = RecordId::from_bytes([255; 16]);

#[derive(Debug, Default)]
pub(super) struct Tables {
    records: BTreeMap<Key, Record>,
    /// The active records of each address in their order.
    order: BTreeMap<Scope, BTreeSet<(Timestamp, i64, RecordId)>>,
    tombstones: BTreeMap<Key, Tombstone>,
    buried: BTreeSet<(Scope, ContentHash)>,
    queue: BTreeMap<(Job, u64), (Key, Timestamp)>,
    tickets: BTreeMap<(Job, Key), u64>,
    next_ticket: u64,
}

/// A write that has been decided and cannot fail any more.
pub(super) struct Step {
    id: RecordId,
    outcome: Outcome,
    revision: u64,
    store: Option<(Record, bool)>,
}

impl Tables {
    pub(super) fn within<'a>(&'a self, scope: &'a Scope) -> impl Iterator<Item = &'a Record> {
        let namespace = scope.user_name().map(|_| scope.namespace());
        let (some, all) = match namespace {
            Some(space) => (Some(self.records.range((space.clone(), FIRST)..=(space, LAST))), None),
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

    pub(super) fn beside(&self, record: &Record) -> Adjacent {
        let place = record.position();
        let Some(order) = self.order.get(&record.scope) else { return Adjacent::default() };
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

    fn barred(&self, record: &Record) -> Option<Barred> {
        if self.tombstones.contains_key(&key(record)) {
            return Some(Barred::Id);
        }
        self.bars_content(record).then_some(Barred::Content)
    }

    fn bars_content(&self, record: &Record) -> bool {
        let buried = || self.buried.contains(&(record.scope.namespace(), record.content_hash()));
        Tombstone::bars_content_for(record.trust) && buried()
    }

    /// Decides a write; `decided` holds what earlier writes of the batch will have stored.
    pub(super) fn decide(&self, write: Write, decided: &mut BTreeMap<Key, Record>) -> Result<Step> {
        let (id, key) = (write.record.id, key(&write.record));
        let old = decided.get(&key).or_else(|| self.records.get(&key));
        let step = match Decision::of(write.mode, write.record, old)? {
            Decision::Keep(revision) => Step { id, outcome: Outcome::Unchanged, revision, store: None },
            Decision::Insert(record) => match self.barred(&record) {
                Some(barred) => Step { id, outcome: Outcome::Barred(barred), revision: 0, store: None },
                None => Step { id, outcome: Outcome::Created, revision: 1, store: Some((*record, true)) },
            },
            Decision::Replace { record, reindex: true } if self.bars_content(&record) => {
                let outcome = Outcome::Barred(Barred::Content);
                Step { id, outcome, revision: record.revision - 1, store: None }
            }
            Decision::Replace { record, reindex } => {
                Step { id, outcome: Outcome::Updated, revision: record.revision, store: Some((*record, reindex)) }
            }
        };
        if let Some((record, _)) = &step.store {
            decided.insert(key, record.clone());
        }
        Ok(step)
    }

    pub(super) fn carry_out(&mut self, step: Step) -> Written {
        let mut pending = Vec::new();
        if let Some((record, reindex)) = step.store {
            let key = key(&record);
            self.unlink(&key);
            if record.state == State::Active {
                self.order.entry(record.scope.clone()).or_default().insert(record.position());
            }
            if reindex {
                self.unqueue(&key);
                if record.state == State::Active {
                    pending.extend(Job::ALL);
                }
            }
            for job in &pending {
                self.enqueue(*job, &key);
            }
            self.records.insert(key, record);
        }
        Written { id: step.id, outcome: step.outcome, revision: step.revision, pending }
    }

    fn unlink(&mut self, key: &Key) {
        let Some(old) = self.records.get(key) else { return };
        if let Some(order) = self.order.get_mut(&old.scope) {
            order.remove(&old.position());
            if order.is_empty() {
                self.order.remove(&old.scope);
            }
        }
    }

    /// Removes what the tombstone names and keeps the tombstone, unless its id belongs to a record at another address;
    /// whether it is new.
    pub(super) fn bury(&mut self, tombstone: Tombstone) -> bool {
        let key = (tombstone.scope.namespace(), tombstone.id);
        if self.records.get(&key).is_some_and(|record| record.scope != tombstone.scope) {
            return false;
        }
        self.unlink(&key);
        self.unqueue(&key);
        self.records.remove(&key);
        self.buried.insert((key.0.clone(), tombstone.content_hash));
        self.tombstones.insert(key, tombstone).is_none()
    }

    pub(super) fn waits_for(&self, record: &Record) -> impl Iterator<Item = Job> {
        let key = key(record);
        Job::ALL.into_iter().filter(move |job| self.tickets.contains_key(&(*job, key.clone())))
    }

    pub(super) fn enqueue(&mut self, job: Job, key: &Key) {
        self.next_ticket += 1;
        if let Some(old) = self.tickets.insert((job, key.clone()), self.next_ticket) {
            self.queue.remove(&(job, old));
        }
        self.queue.insert((job, self.next_ticket), (key.clone(), Timestamp::from_micros(i64::MIN)));
    }

    fn unqueue(&mut self, key: &Key) {
        for job in Job::ALL {
            if let Some(ticket) = self.tickets.remove(&(job, key.clone())) {
                self.queue.remove(&(job, ticket));
            }
        }
    }

    pub(super) fn claim(&mut self, job: Job, limit: usize, lease: Duration, now: Timestamp) -> Vec<Pending> {
        let free = self.queue.range_mut((job, 0)..=(job, u64::MAX)).filter(|(_, (_, leased))| *leased <= now);
        let mut pending = Vec::new();
        for (_, (key, leased_until)) in free.take(limit) {
            if !lease.is_zero() {
                *leased_until = now.after(lease);
            }
            pending.extend(self.records.get(key).map(|r| Pending { record: r.clone(), job }));
        }
        pending
    }

    pub(super) fn acknowledge(&mut self, done: &Done) -> bool {
        let key = (done.scope.namespace(), done.id);
        let current = self.records.get(&key).is_some_and(|r| r.revision == done.revision);
        if current && let Some(ticket) = self.tickets.remove(&(done.job, key)) {
            self.queue.remove(&(done.job, ticket));
        }
        current
    }
}
