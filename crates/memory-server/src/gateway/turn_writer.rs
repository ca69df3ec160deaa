//! Stores turns in the background.

mod edits;
mod pending;
mod plan;
mod retry;
mod retry_queues;
mod worker;

use std::{sync::Arc, time::Duration};

use memory_engine::MemoryEngine;
use tokio::{
    runtime::Handle,
    sync::{Semaphore, mpsc, oneshot},
    time::timeout,
};
use tokio_util::task::TaskTracker;

use super::{options::GatewayOptions, sessions::SessionCache, turn::Turn};
use pending::{PendingWrite, lost};
use retry_queues::RetryQueues;
use worker::TurnWorker;

/// Stores turns in a task of its own, so that neither a slow store nor a disconnected client delays a chat. Waiting
/// turns are stored in one transaction. A turn that the store refuses is retried separately; only later turns of the
/// same conversation wait for it.
#[derive(Debug, Clone)]
pub(super) struct TurnWriter {
    queue: mpsc::UnboundedSender<PendingWrite>,
    /// A permit for each turn that may wait or be retried.
    permits: Arc<Semaphore>,
    tracker: TaskTracker,
    timeout: Duration,
}

impl TurnWriter {
    /// Starts the task on this runtime. It ends with the last handle on the writer.
    pub(super) fn start(
        engine: MemoryEngine,
        sessions: Arc<SessionCache>,
        options: &GatewayOptions,
        on: &Handle,
    ) -> Self {
        let (queue, entries) = mpsc::unbounded_channel();
        on.spawn(Arc::new(TurnWorker { engine, sessions, retries: RetryQueues::default() }).run(entries));
        let permits = Arc::new(Semaphore::new(options.queue.clamp(1, Semaphore::MAX_PERMITS)));
        Self { queue, permits, tracker: TaskTracker::new(), timeout: options.keep_deadline }
    }

    /// Queues a turn, waits for `keep_deadline` at most, and returns true if it is stored by then. A turn that is late
    /// may still be stored; one that cannot be queued or stored is counted and logged.
    ///
    /// # Cancel safety
    /// A queued turn is stored even if the future is dropped.
    pub(super) async fn write(&self, turn: Turn) -> bool {
        let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() else {
            lost(&turn, "the queue is full");
            return false;
        };
        let (stored, is_stored) = oneshot::channel();
        let pending = PendingWrite { turn, stored, _permit: permit, _tracked: self.tracker.token() };
        if let Err(refused) = self.queue.send(pending) {
            lost(&refused.0.turn, "the task that stores turns has stopped");
            return false;
        }
        matches!(timeout(self.timeout, is_stored).await, Ok(Ok(true)))
    }

    /// Waits until all queued turns are stored or given up.
    pub(super) async fn drain(&self) {
        self.tracker.close();
        self.tracker.wait().await;
        self.tracker.reopen();
    }
}
