//! A record store that delegates to another one and notes every write and deletion.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use memory_engine::{
    Job, Page, Record, RecordId, Result, ScanQuery, Scope, Stats, Timestamp, WriteResult,
    store::{
        Adjacent, DeletionReport, Done, Failure, JobQueue, MemoryRecordStore, Pending, RecordGroup, RecordStore,
        Tombstone, Write,
    },
};

/// Records in memory, with an audit log of who changed what.
#[derive(Debug, Default)]
pub struct AuditedRecords {
    records: MemoryRecordStore,
    log: Mutex<Vec<String>>,
}

impl AuditedRecords {
    pub fn new(records: MemoryRecordStore) -> Self {
        Self { records, log: Mutex::default() }
    }

    /// Returns the lines of the log so far.
    pub fn log(&self) -> Vec<String> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, line: String) {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }
}

#[async_trait]
impl RecordStore for AuditedRecords {
    async fn put(&self, scope: &Scope, writes: Vec<Write>) -> Result<Vec<WriteResult>> {
        let count = writes.len();
        let written = self.records.put(scope, writes).await?;
        self.note(format!("put {count} at {scope}"));
        Ok(written)
    }

    async fn get(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<Record>>> {
        self.records.get(scope, ids).await
    }

    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<DeletionReport> {
        let deleted = self.records.delete(scope, ids).await?;
        self.note(format!("delete {} at {scope}", deleted.ids.len()));
        Ok(deleted)
    }

    async fn scan(&self, scope: &Scope, query: &ScanQuery) -> Result<Page> {
        self.records.scan(scope, query).await
    }

    async fn derived(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<RecordId>> {
        self.records.derived(scope, ids).await
    }

    async fn adjacent(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Adjacent>> {
        self.records.adjacent(scope, ids).await
    }

    async fn record_groups(&self, scope: &Scope) -> Result<Vec<RecordGroup>> {
        self.records.record_groups(scope).await
    }

    async fn stats(&self, scope: &Scope) -> Result<Stats> {
        self.records.stats(scope).await
    }

    async fn tombstones(&self, scope: &Scope, after: Option<RecordId>, limit: usize) -> Result<Vec<Tombstone>> {
        self.records.tombstones(scope, after, limit).await
    }

    async fn import_tombstones(&self, scope: &Scope, tombstones: &[Tombstone]) -> Result<u64> {
        self.records.import_tombstones(scope, tombstones).await
    }
    async fn expired(&self, now: Timestamp, limit: usize) -> Result<Vec<(Scope, RecordId)>> {
        self.records.expired(now, limit).await
    }
    async fn remove_tombstones(&self, scope: &Scope, ids: &[RecordId]) -> Result<u64> {
        self.records.remove_tombstones(scope, ids).await
    }
}

#[async_trait]
impl JobQueue for AuditedRecords {
    async fn claim(&self, job: Job, limit: usize, lease: Duration) -> Result<Vec<Pending>> {
        self.records.claim(job, limit, lease).await
    }

    async fn extend_lease(&self, pending: &[Pending], lease: Duration) -> Result<()> {
        self.records.extend_lease(pending, lease).await
    }

    async fn complete(&self, done: &[Done]) -> Result<Vec<bool>> {
        self.records.complete(done).await
    }

    async fn fail(&self, failures: &[Failure]) -> Result<()> {
        self.records.fail(failures).await
    }

    async fn failures(&self, scope: &Scope, limit: usize) -> Result<Vec<Failure>> {
        self.records.failures(scope, limit).await
    }

    async fn enqueue(&self, scope: &Scope, ids: &[RecordId], job: Job) -> Result<u64> {
        self.records.enqueue(scope, ids, job).await
    }

    async fn requeue(&self, scope: &Scope, job: Job) -> Result<u64> {
        self.records.requeue(scope, job).await
    }
}
