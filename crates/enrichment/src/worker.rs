//! The worker: takes batches from the job queue and hands them to the handlers.
//!
//! Reasons: `docs/design/decisions/0014-jobs-are-rows.md`.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use memory_engine_core::{Job, Pending, Result};
use memory_engine_indexing::IndexedStore;
use tokio::{sync::Mutex, task::JoinHandle};

use crate::{
    expiry::ExpiredRecords,
    handler::JobHandler,
    latency::{LatencyLog, LatencyStats},
    log::log_error,
};

/// Time for which a claimed item is hidden from other workers. A worker that needs longer extends it. It also limits
/// how long the items of a crashed worker are hidden, if the store cannot detect the crash.
pub(crate) const LEASE_DURATION: Duration = Duration::from_secs(30);

/// Does the jobs of one engine, in the background or on demand, one batch at a time.
#[derive(Debug)]
pub struct Worker {
    pub(crate) store: Arc<IndexedStore>,
    /// The handlers, in the order of execution.
    pub(crate) handlers: Vec<Arc<dyn JobHandler>>,
    /// Deletes expired records.
    pub(crate) expired: ExpiredRecords,
    pub(crate) latencies: LatencyLog,
    /// Locked while a batch runs.
    pub(crate) running: Mutex<()>,
    /// The current batch. If it is set while `running` is unlocked, the future of the batch was dropped before its end.
    claimed: memory_engine_core::sync::Mutex<Option<Arc<Vec<Pending>>>>,
    /// The background task, if the engine has one.
    pub(crate) task: memory_engine_core::sync::Mutex<Option<JoinHandle<()>>>,
    pub(crate) stopping: AtomicBool,
    /// Number of [`BackgroundPause`](crate::background::BackgroundPause)s.
    pub(crate) pauses: AtomicUsize,
}

/// The outcome of a batch that was claimed and run.
#[derive(Debug, Clone, Copy)]
struct BatchOutcome {
    /// Number of items done.
    done: u64,
    /// True if no further item of the job could be claimed.
    is_last: bool,
}

impl Drop for Worker {
    fn drop(&mut self) {
        // The background task wakes up, sees that the worker is gone, and ends.
        self.store.wake();
    }
}

impl Worker {
    pub(crate) fn new(store: Arc<IndexedStore>, handlers: Vec<Arc<dyn JobHandler>>, expired: ExpiredRecords) -> Self {
        Self {
            store,
            handlers,
            expired,
            latencies: LatencyLog::default(),
            running: Mutex::new(()),
            claimed: memory_engine_core::sync::Mutex::default(),
            task: memory_engine_core::sync::Mutex::default(),
            stopping: AtomicBool::new(false),
            pauses: AtomicUsize::new(0),
        }
    }

    /// Returns the latency statistics of each job that this worker has done.
    pub fn latencies(&self) -> BTreeMap<Job, LatencyStats> {
        self.latencies.statistics()
    }

    /// Returns true once the worker is stopping. It then starts no further batch.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Does all queued items that can be claimed, batch by batch. Returns the number of items done. Only one call runs
    /// at a time.
    ///
    /// A job whose service is unavailable is postponed, and the other jobs continue. An item whose record is at fault
    /// is retried with backoff, and becomes a dead letter in the end. Ends early once the worker stops, or if
    /// `should_continue` returns false before a batch.
    ///
    /// # Errors
    /// The first error that concerns a whole job.
    pub(crate) async fn run_all(
        &self,
        should_continue: impl Fn() -> bool,
        mut progress: impl FnMut(u64),
    ) -> Result<u64> {
        let _one_at_a_time = self.running.lock().await;
        self.release_abandoned().await?;
        let mut handlers: Vec<&dyn JobHandler> = self.handlers.iter().map(AsRef::as_ref).collect();
        let mut remaining = handlers.clone();
        let mut done = 0;
        let mut failure = None;
        while let Some(handler) = remaining.first().copied().filter(|_| !self.is_stopping() && should_continue()) {
            let outcome = match handler.batch_size().await {
                Ok(None) => Ok(BatchOutcome { done: 0, is_last: true }),
                Ok(Some(size)) => {
                    // An error of the queue concerns all jobs.
                    let pending = self.store.queue().claim(handler.job(), size, LEASE_DURATION).await?;
                    // An item that is queued from now on wakes the worker again.
                    let is_last = pending.len() < size;
                    self.run_claimed(handler, pending).await.map(|done| BatchOutcome { done, is_last })
                }
                Err(error) => Err(error),
            };
            match outcome {
                Ok(batch) => {
                    if batch.done > 0 {
                        done += batch.done;
                        progress(done);
                    }
                    if batch.is_last {
                        remaining.remove(0);
                    } else if handler.job() == Job::Reembedding {
                        // There may be many of these items. Items of other jobs that were queued meanwhile come first.
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
        if remaining.is_empty()
            && let Err(error) = self.store.embedding().cut_over_when_complete().await
        {
            failure.get_or_insert(error);
        }
        failure.map_or(Ok(done), Err)
    }

    /// Does a claimed batch. Returns the number of items done.
    async fn run_claimed(&self, handler: &dyn JobHandler, pending: Vec<Pending>) -> Result<u64> {
        if pending.is_empty() {
            return Ok(0);
        }
        let pending = Arc::new(pending);
        *self.claimed.lock() = Some(Arc::clone(&pending));
        let done = self.with_lease(&pending, self.run_batch(handler, &pending)).await;
        *self.claimed.lock() = None;
        done
    }

    /// Releases the items of a batch whose future was dropped before its end, for example with its runtime. The caller
    /// ensures that no batch is running.
    pub(crate) async fn release_abandoned(&self) -> Result<()> {
        let Some(abandoned) = self.claimed.lock().clone() else { return Ok(()) };
        self.store.queue().release(&abandoned).await?;
        *self.claimed.lock() = None;
        Ok(())
    }

    /// Extends the lease of claimed items until the work is done.
    async fn with_lease<T>(&self, claimed: &[Pending], work: impl Future<Output = T>) -> T {
        let extend = async {
            loop {
                tokio::time::sleep(LEASE_DURATION / 2).await;
                if let Err(error) = self.store.queue().extend_lease(claimed, LEASE_DURATION).await {
                    log_error("lease", "the lease was not extended; another worker may do the same work", &error);
                }
            }
        };
        tokio::select! {
            done = work => done,
            never = extend => never,
        }
    }
}
