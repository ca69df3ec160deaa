//! Starts and stops the background task of a worker, and restarts it on another runtime.

use std::{
    sync::{Arc, Weak, atomic::Ordering},
    time::Duration,
};

use memory_engine_core::{ErrorKind, Result};
use tokio::{
    runtime::Handle,
    sync::Notify,
    time::{Instant, timeout, timeout_at},
};

use crate::{
    log::log_error,
    retry::backoff,
    worker::{LEASE_DURATION, Worker},
};

/// Maximum time to wait for the end of the stopped task. On a runtime that no thread drives it never ends.
const TASK_END_TIMEOUT: Duration = Duration::from_secs(1);

/// Time that the idle background task waits after the first queued item, so that one batch contains the items that are
/// queued meanwhile.
const BATCH_WINDOW: Duration = Duration::from_millis(100);

/// Keeps the background task from starting a batch, until it is dropped. Returned by [`Worker::pause`].
#[derive(Debug)]
#[must_use = "the pause ends when it is dropped"]
pub struct BackgroundPause {
    worker: Arc<Worker>,
}

impl Drop for BackgroundPause {
    fn drop(&mut self) {
        self.worker.pauses.fetch_sub(1, Ordering::AcqRel);
        self.worker.store.wake();
    }
}

impl Worker {
    /// Pauses the background task: it finishes the current batch and starts no other until the returned value is
    /// dropped. [`drain`](Self::drain) works meanwhile.
    pub fn pause(self: &Arc<Self>) -> BackgroundPause {
        self.pauses.fetch_add(1, Ordering::AcqRel);
        BackgroundPause { worker: Arc::clone(self) }
    }

    fn is_paused(&self) -> bool {
        self.pauses.load(Ordering::Acquire) > 0
    }

    /// Starts the background task on the current runtime. It runs when jobs are queued and at least every 30 s, and
    /// ends with the worker. Outside of a runtime, or after its runtime was dropped, the next call that queues jobs
    /// starts it.
    pub fn spawn(self: &Arc<Self>) {
        self.ensure_running();
        let worker = Arc::downgrade(self);
        self.store.before_wake(move || {
            if let Some(worker) = worker.upgrade() {
                worker.ensure_running();
            }
        });
    }

    fn ensure_running(self: &Arc<Self>) {
        let mut task = self.task.lock();
        if self.is_stopping() || task.as_ref().is_some_and(|task| !task.is_finished()) {
            return;
        }
        if let Ok(runtime) = Handle::try_current() {
            let signal = Arc::clone(self.store.signal());
            *task = Some(runtime.spawn(work_in_background(Arc::downgrade(self), signal)));
        }
    }

    /// Stops the worker permanently. Waits at most `limit` for the current batch. A batch of the background task that
    /// takes longer is aborted, and its items are released to the queue.
    ///
    /// # Errors
    /// The store's error if the items could not be released. Their lease then expires after 30 s.
    pub async fn stop(&self, limit: Duration) -> Result<()> {
        self.stopping.store(true, Ordering::Release);
        self.store.signal().notify_one();
        let is_idle = timeout(limit, self.running.lock()).await.is_ok();
        let task = self.task.lock().take();
        if let Some(task) = task {
            if !is_idle {
                task.abort();
            }
            // An error means that the task was aborted, or that its runtime is gone: it has ended.
            let _ = timeout(TASK_END_TIMEOUT, task).await;
        }
        self.release_abandoned().await
    }
}

/// Runs the jobs [`BATCH_WINDOW`] after the signal, and at least once per lease duration or, after an error, after the
/// backoff, until the worker stops or is dropped.
async fn work_in_background(worker: Weak<Worker>, signal: Arc<Notify>) {
    let mut failures = 0;
    loop {
        let Some(live_worker) = worker.upgrade() else { return };
        // A count of 1 means that only this task holds the worker: the engine was dropped.
        let outcome =
            live_worker.run_all(|| Arc::strong_count(&live_worker) > 1 && !live_worker.is_paused(), |_| ()).await;
        if live_worker.is_stopping() {
            return;
        }
        if !live_worker.is_paused()
            && let Err(error) = live_worker.expired.delete().await
        {
            log_error("expiry", "expired records are not deleted yet; no read returns them", &error);
        }
        drop(live_worker);
        let wait = match outcome {
            Ok(_) => {
                failures = 0;
                // Items that another process claimed and never finished are free again after their lease.
                LEASE_DURATION
            }
            Err(error) if error.kind() == ErrorKind::Closed => return,
            Err(_) => {
                let wait = backoff(failures);
                failures += 1;
                wait
            }
        };
        if timeout(wait, signal.notified()).await.is_ok() {
            wait_for_further_jobs(&worker, &signal).await;
        }
    }
}

/// Waits for [`BATCH_WINDOW`], or until the worker stops or is dropped. Further signals do not end the wait.
async fn wait_for_further_jobs(worker: &Weak<Worker>, signal: &Notify) {
    let end = Instant::now() + BATCH_WINDOW;
    while worker.upgrade().is_some_and(|worker| !worker.is_stopping())
        && timeout_at(end, signal.notified()).await.is_ok()
    {}
}
