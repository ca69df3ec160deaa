//! The record store that keeps everything in memory: complete, for tests and for programs that need no file.

mod tables;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;

use crate::sync::Mutex;
use crate::{
    error::Result,
    filter::Filter,
    id::RecordId,
    record::Record,
    scope::Scope,
    store::{
        Adjacent, Cursor, DeletionReport, Done, Failure, Job, JobQueue, Order, Page, Pending, RecordStore,
        RemovalCounts, ScanQuery, Stats, Tombstone, Write, WriteResult,
    },
    time::{Clock, SystemClock},
};
use tables::Tables;

/// A [`RecordStore`] in memory: what it holds is gone with it.
///
/// It keeps no index, so every new record is queued for indexing.
#[derive(Debug)]
pub struct MemoryRecordStore {
    tables: Mutex<Tables>,
    clock: Arc<dyn Clock>,
}

impl MemoryRecordStore {
    /// An empty store on the machine's clock.
    pub fn new() -> Self {
        Self::with_clock(Arc::new(SystemClock))
    }

    /// An empty store on another clock.
    pub fn with_clock(clock: impl Clock) -> Self {
        Self { tables: Mutex::default(), clock: Arc::new(clock) }
    }
}

impl Default for MemoryRecordStore {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl RecordStore for MemoryRecordStore {
    async fn put(&self, scope: &Scope, writes: Vec<Write>) -> Result<Vec<WriteResult>> {
        writes.iter().try_for_each(|write| scope.authorize("put", &write.record.scope))?;
        let mut tables = self.tables.lock();
        // All are decided before the first is carried out: all or none.
        let mut decided = BTreeMap::new();
        let mut steps = Vec::with_capacity(writes.len());
        for write in writes {
            steps.push(tables.decide(write, &mut decided)?);
        }
        let batch: BTreeSet<RecordId> = steps.iter().map(tables::Step::id).collect();
        let mut changed = Vec::new();
        let now = self.clock.now();
        let carry_out = |step: tables::Step| {
            changed.push(step.changed());
            tables.carry_out(step, now)
        };
        let mut written: Vec<WriteResult> = steps.into_iter().map(carry_out).collect();
        for (written, key) in written.iter_mut().zip(changed) {
            let Some((namespace, id)) = key else { continue };
            written.withdrawn = tables.withdraw(&namespace, &[id].into(), &batch, now, &mut RemovalCounts::default());
        }
        Ok(written)
    }

    async fn get(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<Record>>> {
        let tables = self.tables.lock();
        Ok(ids.iter().map(|id| tables.find(scope, *id).cloned()).collect())
    }

    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<DeletionReport> {
        let mut tables = self.tables.lock();
        let deleted_at = self.clock.now();
        let (mut named, mut seen, mut removed) = (Vec::new(), BTreeSet::new(), RemovalCounts::default());
        let mut of: BTreeMap<Scope, BTreeSet<RecordId>> = BTreeMap::new();
        // First all that are named, and then what was made from any of them: one may have been made from another.
        for id in ids {
            for record in tables.all(scope, *id) {
                tables.remove(&record, deleted_at, &mut removed);
                of.entry(record.scope.namespace()).or_default().insert(*id);
                if seen.insert(*id) {
                    named.push(*id);
                }
            }
        }
        let mut made = BTreeSet::new();
        for (namespace, ids) in of {
            made.extend(tables.withdraw(&namespace, &ids, &BTreeSet::new(), deleted_at, &mut removed));
        }
        made.retain(|id| !seen.contains(id));
        removed.withdrawn = made.len() as u64;
        let mut ids = named;
        ids.extend(made);
        Ok(DeletionReport { ids, removed })
    }

    async fn scan(&self, scope: &Scope, query: &ScanQuery) -> Result<Page> {
        query.filter.as_ref().map_or(Ok(()), Filter::validate)?;
        let tables = self.tables.lock();
        let beyond = |r: &Record| match (query.after, query.order) {
            (None, _) => true,
            (Some(after), Order::OldestFirst) => Cursor::at(r) > after,
            (Some(after), Order::NewestFirst) => Cursor::at(r) < after,
        };
        let wanted = |r: &&Record| query.filter.as_ref().is_none_or(|f| f.matches(r));
        let mut found: Vec<&Record> = tables.within(scope).filter(wanted).collect();
        let total = query.counted.then_some(found.len() as u64);
        found.retain(|r| beyond(r));
        found.sort_by_key(|r| r.position());
        if query.order == Order::NewestFirst {
            found.reverse();
        }
        let found = found.get(query.skip..).unwrap_or_default();
        let more = found.len() > query.limit;
        let records: Vec<Record> = found.iter().take(query.limit).map(|r| (*r).clone()).collect();
        let next = records.last().filter(|_| more).map(Cursor::at);
        Ok(Page { records, next, total })
    }

    async fn derived(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<RecordId>> {
        let tables = self.tables.lock();
        let sources = ids.iter().flat_map(|id| tables.all(scope, *id)).map(|record| tables::key(&record));
        let made: BTreeSet<tables::Key> = sources.flat_map(|key| tables.derived(&key)).collect();
        let within = |key: &tables::Key| tables.record(key).is_some_and(|record| scope.covers(&record.scope));
        Ok(made.into_iter().filter(within).map(|(_, id)| id).collect::<BTreeSet<_>>().into_iter().collect())
    }

    async fn adjacent(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Adjacent>> {
        let tables = self.tables.lock();
        Ok(ids.iter().map(|id| tables.find(scope, *id).map_or_else(Adjacent::default, |r| tables.beside(r))).collect())
    }

    async fn stats(&self, scope: &Scope) -> Result<Stats> {
        let tables = self.tables.lock();
        let mut stats = Stats::default();
        let mut addresses = BTreeSet::new();
        for record in tables.within(scope) {
            stats.records += 1;
            *stats.kinds.entry(record.kind.as_str().to_owned()).or_default() += 1;
            *stats.states.entry(record.state.as_str().to_owned()).or_default() += 1;
            addresses.insert(&record.scope);
            let at = record.occurred_at;
            stats.oldest = Some(stats.oldest.map_or(at, |t| t.min(at)));
            stats.newest = Some(stats.newest.map_or(at, |t| t.max(at)));
            for (job, since) in tables.waits_for(record) {
                let Some(since) = since else {
                    *stats.given_up.entry(job).or_default() += 1;
                    continue;
                };
                *stats.backlog.entry(job).or_default() += 1;
                let first = stats.waiting_since.entry(job).or_insert(since);
                *first = since.min(*first);
            }
        }
        stats.addresses = addresses.len() as u64;
        stats.tombstones = tables.tombstones_within(scope).count() as u64;
        Ok(stats)
    }

    async fn tombstones(&self, scope: &Scope, after: Option<RecordId>, limit: usize) -> Result<Vec<Tombstone>> {
        let tables = self.tables.lock();
        let wanted = |t: &&Tombstone| after.is_none_or(|after| t.id > after);
        let mut found: Vec<Tombstone> = tables.tombstones_within(scope).filter(wanted).cloned().collect();
        found.sort_by_key(|t| t.id);
        found.truncate(limit);
        Ok(found)
    }

    async fn import_tombstones(&self, scope: &Scope, tombstones: &[Tombstone]) -> Result<u64> {
        tombstones.iter().try_for_each(|t| scope.authorize("import_tombstones", &t.scope))?;
        let mut tables = self.tables.lock();
        let now = self.clock.now();
        Ok(tombstones.iter().map(|t| u64::from(tables.import_tombstones(t, now))).sum())
    }
}

#[async_trait]
impl JobQueue for MemoryRecordStore {
    async fn claim(&self, job: Job, limit: usize, lease: Duration) -> Result<Vec<Pending>> {
        Ok(self.tables.lock().claim(job, limit, lease, self.clock.now()))
    }

    async fn extend_lease(&self, pending: &[Pending], lease: Duration) -> Result<()> {
        let mut tables = self.tables.lock();
        let until = self.clock.now().after(lease);
        pending.iter().for_each(|one| tables.extend_lease(one, until));
        Ok(())
    }

    async fn complete(&self, done: &[Done]) -> Result<Vec<bool>> {
        let mut tables = self.tables.lock();
        Ok(done.iter().map(|done| tables.complete(done)).collect())
    }

    async fn fail(&self, failures: &[Failure]) -> Result<()> {
        let mut tables = self.tables.lock();
        failures.iter().for_each(|failure| tables.fail(failure));
        Ok(())
    }

    async fn failures(&self, scope: &Scope, limit: usize) -> Result<Vec<Failure>> {
        let tables = self.tables.lock();
        Ok(tables.failures().filter(|failure| scope.covers(&failure.scope)).take(limit).collect())
    }

    async fn enqueue(&self, scope: &Scope, ids: &[RecordId], job: Job) -> Result<u64> {
        let mut tables = self.tables.lock();
        let ids: BTreeSet<RecordId> = ids.iter().copied().collect();
        let found = ids.iter().flat_map(|id| tables.all(scope, *id)).filter(Record::is_indexed);
        let keys: Vec<_> = found.map(|record| tables::key(&record)).collect();
        let now = self.clock.now();
        for key in &keys {
            tables.enqueue(job, key, now);
        }
        Ok(keys.len() as u64)
    }

    async fn requeue(&self, scope: &Scope, job: Job) -> Result<u64> {
        let mut tables = self.tables.lock();
        let keys: Vec<_> = tables.within(scope).filter(|r| r.is_indexed()).map(tables::key).collect();
        let now = self.clock.now();
        for key in &keys {
            tables.enqueue(job, key, now);
        }
        Ok(keys.len() as u64)
    }
}
