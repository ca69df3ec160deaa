//! The worker: takes batches from the job queue and hands them to the handlers.

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
    time::Duration,
};

use memory_engine_core::{Job, Pending, Result};
use memory_engine_indexing::IndexedStore;
use tokio::{
    runtime::Handle,
    sync::{Mutex, Notify},
};

use crate::{
    handler::JobHandler,
    latency::{LatencyLog, LatencyStats},
    retry::backoff,
};

/// How long a claimed item is hidden from other workers. A worker that takes longer extends it in time; one that dies
/// delays its items by this much.
const LEASE_DURATION: Duration = Duration::from_secs(30);

/// Does the jobs of one engine, in the background or on demand, one batch at a time.
#[derive(Debug)]
pub struct Worker {
    pub(crate) store: Arc<IndexedStore>,
    /// In the order in which their jobs are done.
    pub(crate) handlers: Vec<Arc<dyn JobHandler>>,
    pub(crate) latencies: LatencyLog,
    running: Mutex<()>,
}

impl Drop for Worker {
    fn drop(&mut self) {
        // The background task wakes up, sees that the worker is gone, and ends.
        self.store.wake();
    }
}

impl Worker {
    pub(crate) fn new(store: Arc<IndexedStore>, handlers: Vec<Arc<dyn JobHandler>>) -> Self {
        Self { store, handlers, latencies: LatencyLog::default(), running: Mutex::new(()) }
    }

    /// Returns the latency statistics of each job that this worker has done.
    pub fn latencies(&self) -> BTreeMap<Job, LatencyStats> {
        self.latencies.statistics()
    }

    /// Starts the background task. It works whenever the queue wakes it, and ends with the worker.
    pub fn spawn(self: &Arc<Self>, runtime: &Handle) {
        let signal = Arc::clone(self.store.signal());
        runtime.spawn(work_in_background(Arc::downgrade(self), signal));
    }

    /// Does everything that is queued and free, batch by batch. Returns the number of items done. Only one call runs at a
    /// time.
    ///
    /// A job whose service is away is left for later, and the others go on. An item that fails by itself is tried again
    /// after longer and longer waits, and given up in the end; it delays no other.
    ///
    /// # Errors
    /// The first error that concerns a whole job.
    pub(crate) async fn run_all(&self, mut progress: impl FnMut(u64)) -> Result<u64> {
        let _one_at_a_time = self.running.lock().await;
        let mut handlers: Vec<&dyn JobHandler> = self.handlers.iter().map(AsRef::as_ref).collect();
        let mut remaining = handlers.clone();
        let mut done = 0;
        let mut failure = None;
        while let Some(handler) = remaining.first().copied() {
            let outcome = match handler.batch_size().await {
                Ok(None) => Ok(None),
                Ok(Some(size)) => {
                    // Without the queue there is nothing to do for any job.
                    let pending = self.store.queue().claim(handler.job(), size, LEASE_DURATION).await?;
                    self.run_claimed(handler, &pending).await
                }
                Err(error) => Err(error),
            };
            match outcome {
                Ok(None) => _ = remaining.remove(0),
                Ok(Some(count)) => {
                    done += count;
                    progress(done);
                    if handler.job() == Job::Reembedding {
                        // There may be very many of these: what has been queued meanwhile is done in between.
                        remaining.clone_from(&handlers);
                    }
                }
                Err(error) => {
                    failure.get_or_insert(error);
                    remaining.remove(0);
                    handlers.retain(|other| other.job() != handler.job());
                }
            }
        }
        if let Err(error) = self.store.embedding().cut_over_when_complete().await {
            failure.get_or_insert(error);
        }
        failure.map_or(Ok(done), Err)
    }

    /// Does a claimed batch. Returns the number of items done; `None` if nothing waited for this job.
    async fn run_claimed(&self, handler: &dyn JobHandler, pending: &[Pending]) -> Result<Option<u64>> {
        if pending.is_empty() {
            return Ok(None);
        }
        self.with_lease(pending, self.run_batch(handler, pending)).await.map(Some)
    }

    /// Extends the lease of claimed items for as long as the work takes.
    async fn with_lease<T>(&self, claimed: &[Pending], work: impl Future<Output = T>) -> T {
        let extend = async {
            loop {
                tokio::time::sleep(LEASE_DURATION / 2).await;
                if let Err(error) = self.store.queue().extend_lease(claimed, LEASE_DURATION).await {
                    tracing::warn!(kind = ?error.kind(), "another worker may do the same: {error}");
                }
            }
        };
        tokio::select! {
            done = work => done,
            never = extend => never,
        }
    }
}

async fn work_in_background(worker: Weak<Worker>, signal: Arc<Notify>) {
    let mut failures = 0;
    loop {
        let Some(worker) = worker.upgrade() else { return };
        let outcome = worker.run_all(|_| {}).await;
        drop(worker);
        let wait = match outcome {
            Ok(_) => {
                failures = 0;
                // Items that another process claimed and never finished come back after their lease.
                LEASE_DURATION
            }
            Err(_) => {
                let wait = backoff(failures);
                failures += 1;
                wait
            }
        };
        let _ = tokio::time::timeout(wait, signal.notified()).await;
    }
}
