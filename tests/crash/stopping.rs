//! A record store that blocks at a chosen point of a job.

use std::{
    io::Write as _,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use memory_engine_core::{
    Adjacent, DeletionReport, Done, Failure, Job, JobQueue, Page, Pending, PeriodCount, Periods, Record, RecordGroup,
    RecordId, RecordStore, Result, ScanQuery, Scope, Stats, Timestamp, Tombstone, Write, WriteResult,
    audit::AuditLog,
    residue::{ResidueProbes, ResidueReport},
};

/// The line that is printed when the point is reached.
pub(crate) const REACHED: &str = "the point is reached";

/// A point at which a job can be stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Point {
    /// The items are claimed, and nothing is derived from them yet.
    Claimed,
    /// Everything is stored, and the caller has not got the result yet.
    Done,
}

impl Point {
    pub(crate) const ALL: [Self; 2] = [Self::Claimed, Self::Done];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Claimed => "when_it_has_claimed",
            Self::Done => "before_it_acknowledges",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|point| point.as_str() == name)
    }
}

/// The point at which to block, and how often it is passed before.
#[derive(Debug)]
pub(crate) struct Stop {
    job: Job,
    point: Point,
    passes: AtomicU32,
}

impl Stop {
    /// Blocks when the job reaches the point for the second time, so that it is in the middle. The keyword job has one
    /// batch only, so it blocks the first time.
    pub(crate) fn new(job: Job, point: Point) -> Self {
        Self { job, point, passes: AtomicU32::new(if job == Job::Keywords { 0 } else { 1 }) }
    }

    async fn block_at(&self, job: Job, point: Point) {
        if (job, point) != (self.job, self.point) || pass(&self.passes) {
            return;
        }
        println!("{REACHED}");
        std::io::stdout().flush().unwrap();
        std::future::pending().await
    }
}

fn pass(left: &AtomicU32) -> bool {
    left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
}

/// Delegates to another store until the point is reached.
#[derive(Debug)]
pub(crate) struct StoppingStore<S> {
    inner: Arc<S>,
    stop: Stop,
}

impl<S> StoppingStore<S> {
    pub(crate) fn new(inner: Arc<S>, stop: Stop) -> Self {
        Self { inner, stop }
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<S: RecordStore> RecordStore for StoppingStore<S> {
    async fn put(&self, scope: &Scope, writes: Vec<Write>) -> Result<Vec<WriteResult>> {
        self.inner.put(scope, writes).await
    }
    async fn get(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<Record>>> {
        self.inner.get(scope, ids).await
    }
    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<DeletionReport> {
        self.inner.delete(scope, ids).await
    }
    async fn delete_unreachable(&self, scope: &Scope) -> Result<DeletionReport> {
        self.inner.delete_unreachable(scope).await
    }
    async fn raw_rows(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<serde_json::Value>> {
        self.inner.raw_rows(scope, ids).await
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
    async fn period_counts(&self, scope: &Scope, periods: Periods) -> Result<Vec<PeriodCount>> {
        self.inner.period_counts(scope, periods).await
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
    fn audit_log(&self) -> Option<Arc<dyn AuditLog>> {
        self.inner.audit_log()
    }
    async fn find_residue(&self, probes: &ResidueProbes) -> Result<ResidueReport> {
        self.inner.find_residue(probes).await
    }
    async fn close(&self) {
        self.inner.close().await;
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<S: JobQueue> JobQueue for StoppingStore<S> {
    async fn claim(&self, job: Job, limit: usize, lease: Duration) -> Result<Vec<Pending>> {
        let pending = self.inner.claim(job, limit, lease).await?;
        if !pending.is_empty() && !lease.is_zero() {
            self.stop.block_at(job, Point::Claimed).await;
        }
        Ok(pending)
    }
    async fn extend_lease(&self, pending: &[Pending], lease: Duration) -> Result<()> {
        self.inner.extend_lease(pending, lease).await
    }
    async fn release(&self, pending: &[Pending]) -> Result<()> {
        self.inner.release(pending).await
    }
    async fn complete(&self, done: &[Done]) -> Result<Vec<bool>> {
        if let Some(first) = done.first() {
            self.stop.block_at(first.job, Point::Done).await;
        }
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
