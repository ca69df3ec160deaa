//! A record store in memory, for tests and for programs that need no persistence.

mod job_table;
mod record_key;
mod tables;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;

use crate::{
    audit::{AuditLog, MemoryAuditLog},
    error::Result,
    filter::Filter,
    id::RecordId,
    record::Record,
    residue::{ResidueProbes, ResidueReport},
    scope::Scope,
    store::{
        Adjacent, Cursor, DeletionReport, Done, Failure, Job, JobQueue, Order, Page, Pending, PeriodCount, Periods,
        RecordGroup, RecordStore, RemovalCounts, ScanQuery, Stats, Tombstone, Write, WriteResult,
    },
    sync::Mutex,
    time::{Clock, SystemClock, Timestamp},
};
use record_key::{RecordKey, key};
use tables::{PlannedWrite, RecordTables};

/// A [`RecordStore`] in memory. Its records are lost when it is dropped.
///
/// It has no index, so every new record is queued for indexing.
#[derive(Debug)]
pub struct MemoryRecordStore {
    tables: Mutex<RecordTables>,
    audit: Arc<MemoryAuditLog>,
    clock: Arc<dyn Clock>,
}

impl MemoryRecordStore {
    /// Creates an empty store with the clock of the machine.
    pub fn new() -> Self {
        Self::with_clock(Arc::new(SystemClock))
    }

    /// Creates an empty store with this clock.
    pub fn with_clock(clock: impl Clock) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(clock);
        Self { tables: Mutex::default(), audit: Arc::new(MemoryAuditLog::new(Arc::clone(&clock))), clock }
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
        // All writes are checked before the first is applied: all or none.
        let now = self.clock.now();
        let mut planned_records = BTreeMap::new();
        let mut planned_writes = Vec::with_capacity(writes.len());
        for write in writes {
            planned_writes.push(tables.plan(write, &mut planned_records, now)?);
        }
        let batch: BTreeSet<RecordId> = planned_writes.iter().map(PlannedWrite::id).collect();
        let mut results = Vec::with_capacity(planned_writes.len());
        let mut changed_sources = Vec::with_capacity(planned_writes.len());
        for write in planned_writes {
            changed_sources.push(write.changed_source());
            results.push(tables.apply(write, now));
        }
        for (result, source) in results.iter_mut().zip(changed_sources) {
            let Some((namespace, id)) = source else { continue };
            let mut removed = RemovalCounts::default();
            result.cascade_deleted = tables.delete_derived(&namespace, &[id].into(), &batch, now, &mut removed);
        }
        Ok(results)
    }

    async fn get(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<Record>>> {
        let tables = self.tables.lock();
        Ok(ids.iter().map(|id| tables.find(scope, *id).cloned()).collect())
    }

    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<DeletionReport> {
        let mut tables = self.tables.lock();
        let deleted_at = self.clock.now();
        let mut removed = RemovalCounts::default();
        let mut deleted_ids = Vec::new();
        let mut requested = BTreeSet::new();
        let mut sources_by_namespace: BTreeMap<Scope, BTreeSet<RecordId>> = BTreeMap::new();
        // All requested records are deleted before the derived ones, since a requested one may be derived from another.
        for id in ids {
            for record in tables.find_all(scope, *id) {
                tables.delete(&record, deleted_at, &mut removed);
                sources_by_namespace.entry(record.scope.namespace()).or_default().insert(*id);
                if requested.insert(*id) {
                    deleted_ids.push(*id);
                }
            }
        }
        let mut derived = BTreeSet::new();
        for (namespace, sources) in sources_by_namespace {
            derived.extend(tables.delete_derived(&namespace, &sources, &BTreeSet::new(), deleted_at, &mut removed));
        }
        derived.retain(|id| !requested.contains(id));
        removed.cascade_deleted = derived.len() as u64;
        deleted_ids.extend(derived);
        Ok(DeletionReport { ids: deleted_ids, removed })
    }

    async fn scan(&self, scope: &Scope, query: &ScanQuery) -> Result<Page> {
        query.filter.as_ref().map_or(Ok(()), Filter::validate)?;
        let tables = self.tables.lock();
        let is_after_cursor = |record: &Record| match (query.after, query.order) {
            (None, _) => true,
            (Some(after), Order::OldestFirst) => Cursor::at(record) > after,
            (Some(after), Order::NewestFirst) => Cursor::at(record) < after,
        };
        let matches = |record: &&Record| query.filter.as_ref().is_none_or(|filter| filter.matches(record));
        let mut matching: Vec<&Record> = tables.within(scope).filter(matches).collect();
        let total = query.counted.then_some(matching.len() as u64);
        matching.retain(|record| is_after_cursor(record));
        matching.sort_by_key(|record| record.position());
        if query.order == Order::NewestFirst {
            matching.reverse();
        }
        let remaining = matching.get(query.skip..).unwrap_or_default();
        let has_next_page = remaining.len() > query.limit;
        let records: Vec<Record> = remaining.iter().take(query.limit).map(|record| (*record).clone()).collect();
        let next = records.last().filter(|_| has_next_page).map(Cursor::at);
        Ok(Page::new(records, next).with_total(total))
    }

    async fn derived(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<RecordId>> {
        let tables = self.tables.lock();
        let sources = ids.iter().flat_map(|id| tables.find_all(scope, *id)).map(|record| key(&record));
        let derived: BTreeSet<RecordKey> = sources.flat_map(|key| tables.derived(&key)).collect();
        let is_in_scope = |key: &RecordKey| tables.record(key).is_some_and(|record| scope.covers(&record.scope));
        let ids: BTreeSet<RecordId> = derived.into_iter().filter(is_in_scope).map(|(_, id)| id).collect();
        Ok(ids.into_iter().collect())
    }

    async fn adjacent(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Adjacent>> {
        let tables = self.tables.lock();
        let adjacent =
            |id: &RecordId| tables.find(scope, *id).map(|record| tables.adjacent(record)).unwrap_or_default();
        Ok(ids.iter().map(adjacent).collect())
    }

    async fn record_groups(&self, scope: &Scope) -> Result<Vec<RecordGroup>> {
        Ok(RecordGroup::collect(self.tables.lock().within(scope)))
    }

    async fn period_counts(&self, scope: &Scope, periods: Periods) -> Result<Vec<PeriodCount>> {
        Ok(periods.count(self.tables.lock().within(scope)))
    }

    async fn stats(&self, scope: &Scope) -> Result<Stats> {
        let tables = self.tables.lock();
        let mut stats = Stats::default();
        stats.add_groups(RecordGroup::collect(tables.within(scope)));
        for record in tables.within(scope) {
            for (job, queued_at) in tables.jobs_of(record) {
                let Some(queued_at) = queued_at else {
                    *stats.dead_letters.entry(job).or_default() += 1;
                    continue;
                };
                *stats.queued.entry(job).or_default() += 1;
                let oldest = stats.waiting_since.entry(job).or_insert(queued_at);
                *oldest = queued_at.min(*oldest);
            }
        }
        stats.tombstones = tables.tombstones_within(scope).count() as u64;
        Ok(stats)
    }

    async fn tombstones(&self, scope: &Scope, after: Option<RecordId>, limit: usize) -> Result<Vec<Tombstone>> {
        let tables = self.tables.lock();
        let is_after = |tombstone: &&Tombstone| after.is_none_or(|after| tombstone.id > after);
        let mut page: Vec<Tombstone> = tables.tombstones_within(scope).filter(is_after).cloned().collect();
        page.sort_by_key(|tombstone| tombstone.id);
        page.truncate(limit);
        Ok(page)
    }

    async fn import_tombstones(&self, scope: &Scope, tombstones: &[Tombstone]) -> Result<u64> {
        tombstones.iter().try_for_each(|tombstone| scope.authorize("import_tombstones", &tombstone.scope))?;
        let mut tables = self.tables.lock();
        let now = self.clock.now();
        Ok(tombstones.iter().map(|tombstone| u64::from(tables.import_tombstone(tombstone, now))).sum())
    }

    async fn expired(&self, now: Timestamp, limit: usize) -> Result<Vec<(Scope, RecordId)>> {
        let tables = self.tables.lock();
        let mut expired: Vec<&Record> = tables.all().filter(|record| record.is_expired(now)).collect();
        expired.sort_by_key(|record| (record.expires_at, record.id));
        Ok(expired.into_iter().take(limit).map(|record| (record.scope.clone(), record.id)).collect())
    }

    async fn remove_tombstones(&self, scope: &Scope, ids: &[RecordId]) -> Result<u64> {
        Ok(self.tables.lock().remove_tombstones(scope, ids))
    }

    async fn find_residue(&self, probes: &ResidueProbes) -> Result<ResidueReport> {
        Ok(self.tables.lock().find_residue(probes))
    }

    fn audit_log(&self) -> Option<Arc<dyn AuditLog>> {
        Some(self.audit.clone())
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
        pending.iter().for_each(|claimed| tables.extend_lease(claimed, until));
        Ok(())
    }

    async fn complete(&self, done: &[Done]) -> Result<Vec<bool>> {
        let mut tables = self.tables.lock();
        Ok(done.iter().map(|done| tables.complete(done)).collect())
    }

    async fn fail(&self, failures: &[Failure]) -> Result<()> {
        let mut tables = self.tables.lock();
        let now = self.clock.now();
        failures.iter().for_each(|failure| tables.fail(failure, now));
        Ok(())
    }

    async fn failures(&self, scope: &Scope, limit: usize) -> Result<Vec<Failure>> {
        let tables = self.tables.lock();
        Ok(tables.failures().filter(|failure| scope.covers(&failure.scope)).take(limit).collect())
    }

    async fn enqueue(&self, scope: &Scope, ids: &[RecordId], job: Job) -> Result<u64> {
        let mut tables = self.tables.lock();
        let ids: BTreeSet<RecordId> = ids.iter().copied().collect();
        let indexed = ids.iter().flat_map(|id| tables.find_all(scope, *id)).filter(Record::is_indexed);
        let keys: Vec<_> = indexed.map(|record| key(&record)).collect();
        Ok(tables.enqueue(job, &keys, self.clock.now()))
    }

    async fn requeue(&self, scope: &Scope, job: Job) -> Result<u64> {
        let mut tables = self.tables.lock();
        let keys: Vec<_> = tables.within(scope).filter(|record| record.is_indexed()).map(key).collect();
        Ok(tables.enqueue(job, &keys, self.clock.now()))
    }
}
