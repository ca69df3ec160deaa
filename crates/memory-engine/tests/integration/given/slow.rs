//! Stores with a delay.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use memory_engine::{
    Page, Record, RecordId, Result, ScanQuery, Scope, Stats, Timestamp, WriteResult,
    store::{
        Adjacent, DeletionReport, Done, Failure, Job, JobQueue, KeywordEntry, KeywordQuery, KeywordStore, PackedTerms,
        Pending, RecordGroup, RecordStore, Tombstone, Write,
    },
};

/// A delay that can be changed while the stores are in use.
#[derive(Debug, Clone, Default)]
pub(crate) struct Delay(Arc<Mutex<Duration>>);

impl Delay {
    pub(crate) fn set(&self, delay: Duration) {
        *self.0.lock().unwrap() = delay;
    }

    async fn wait(&self) {
        let delay = *self.0.lock().unwrap();
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
    }
}

/// A store that delays searches and look-ups by id.
#[derive(Debug)]
pub(crate) struct SlowStore<S> {
    pub(crate) inner: S,
    pub(crate) delay: Delay,
}

#[async_trait]
impl<S: KeywordStore> KeywordStore for SlowStore<S> {
    async fn upsert(&self, scope: &Scope, entries: &[KeywordEntry]) -> Result<()> {
        self.inner.upsert(scope, entries).await
    }
    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<u64> {
        self.inner.delete(scope, ids).await
    }
    async fn search(&self, scope: &Scope, query: &KeywordQuery) -> Result<Vec<memory_engine::store::Hit>> {
        self.delay.wait().await;
        self.inner.search(scope, query).await
    }
    async fn terms(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<PackedTerms>>> {
        self.inner.terms(scope, ids).await
    }
}

#[async_trait]
impl<S: RecordStore> RecordStore for SlowStore<S> {
    async fn put(&self, scope: &Scope, writes: Vec<Write>) -> Result<Vec<WriteResult>> {
        self.inner.put(scope, writes).await
    }
    async fn get(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<Record>>> {
        self.delay.wait().await;
        self.inner.get(scope, ids).await
    }
    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<DeletionReport> {
        self.inner.delete(scope, ids).await
    }
    async fn scan(&self, scope: &Scope, query: &ScanQuery) -> Result<Page> {
        self.inner.scan(scope, query).await
    }
    async fn derived(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<RecordId>> {
        self.inner.derived(scope, ids).await
    }
    async fn adjacent(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Adjacent>> {
        self.inner.adjacent(scope, ids).await
    }
    async fn record_groups(&self, scope: &Scope) -> Result<Vec<RecordGroup>> {
        self.inner.record_groups(scope).await
    }
    async fn stats(&self, scope: &Scope) -> Result<Stats> {
        self.inner.stats(scope).await
    }
    async fn tombstones(&self, scope: &Scope, after: Option<RecordId>, limit: usize) -> Result<Vec<Tombstone>> {
        self.inner.tombstones(scope, after, limit).await
    }
    async fn import_tombstones(&self, scope: &Scope, tombstones: &[Tombstone]) -> Result<u64> {
        self.inner.import_tombstones(scope, tombstones).await
    }
    async fn expired(&self, now: Timestamp, limit: usize) -> Result<Vec<(Scope, RecordId)>> {
        self.inner.expired(now, limit).await
    }
    async fn remove_tombstones(&self, scope: &Scope, ids: &[RecordId]) -> Result<u64> {
        self.inner.remove_tombstones(scope, ids).await
    }
}

#[async_trait]
impl<S: JobQueue> JobQueue for SlowStore<S> {
    async fn claim(&self, job: Job, limit: usize, lease: Duration) -> Result<Vec<Pending>> {
        self.inner.claim(job, limit, lease).await
    }
    async fn extend_lease(&self, pending: &[Pending], lease: Duration) -> Result<()> {
        self.inner.extend_lease(pending, lease).await
    }
    async fn complete(&self, done: &[Done]) -> Result<Vec<bool>> {
        self.inner.complete(done).await
    }
    async fn fail(&self, failures: &[Failure]) -> Result<()> {
        self.inner.fail(failures).await
    }
    async fn failures(&self, scope: &Scope, limit: usize) -> Result<Vec<Failure>> {
        self.inner.failures(scope, limit).await
    }
    async fn enqueue(&self, scope: &Scope, ids: &[RecordId], job: Job) -> Result<u64> {
        self.inner.enqueue(scope, ids, job).await
    }
    async fn requeue(&self, scope: &Scope, job: Job) -> Result<u64> {
        self.inner.requeue(scope, job).await
    }
}
