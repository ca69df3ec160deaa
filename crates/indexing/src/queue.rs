//! The job queue of the record store, and the signal that it has work.

use std::{sync::Arc, time::Duration};

use memory_engine_core::{Done, Failure, Job, Pending, RecordId, RecordStore, Result, Scope};
use tokio::sync::Notify;

/// The job queue of a record store, with the signal that wakes the background worker.
#[derive(Debug, Clone)]
pub struct QueueHandle {
    jobs: Arc<dyn RecordStore>,
    signal: Arc<Notify>,
}

impl QueueHandle {
    pub(crate) fn new(jobs: Arc<dyn RecordStore>) -> Self {
        Self { jobs, signal: Arc::new(Notify::new()) }
    }

    /// Signals the worker that there is something to do.
    pub fn wake(&self) {
        self.signal.notify_one();
    }

    /// The signal of [`wake`](Self::wake). It does not keep the store open.
    pub fn signal(&self) -> &Arc<Notify> {
        &self.signal
    }

    /// Claims at most `limit` items of a job and hides them from other workers for `lease`.
    ///
    /// # Errors
    /// The store's error, as in every method of the queue.
    pub async fn claim(&self, job: Job, limit: usize, lease: Duration) -> Result<Vec<Pending>> {
        self.jobs.backlog(job, limit, lease).await
    }

    /// Extends the lease of claimed items.
    pub async fn extend_lease(&self, claimed: &[Pending], lease: Duration) -> Result<()> {
        self.jobs.renew(claimed, lease).await
    }

    /// Removes finished items. Returns for each whether its record is still there at that revision and indexed.
    pub async fn acknowledge(&self, done: &[Done]) -> Result<Vec<bool>> {
        self.jobs.acknowledge(done).await
    }

    /// Notes failed attempts.
    pub async fn fail(&self, failures: &[Failure]) -> Result<()> {
        self.jobs.fail(failures).await
    }

    /// Returns at most `limit` failed items within `scope`, the longest waiting first.
    pub async fn failures(&self, scope: &Scope, limit: usize) -> Result<Vec<Failure>> {
        self.jobs.failures(scope, limit).await
    }

    /// Queues a job for these records. Returns the number of items.
    pub async fn enqueue(&self, scope: &Scope, ids: &[RecordId], job: Job) -> Result<u64> {
        self.jobs.enqueue(scope, ids, job).await
    }

    /// Queues a job for every active record within `scope`. Returns the number of items.
    pub async fn requeue(&self, scope: &Scope, job: Job) -> Result<u64> {
        self.jobs.requeue(scope, job).await
    }
}
