//! Stores turns in the background.

mod edits;
mod pending;
mod plan;
mod retry;
mod retry_queues;
mod rounds;
mod worker;

use std::{sync::Arc, time::Duration};

use memory_engine::{MemoryEngine, audit::AuditContext};
use tokio::{
    runtime::Handle,
    sync::{Semaphore, mpsc, oneshot},
    time::timeout,
};
use tokio_util::task::TaskTracker;

use super::{options::GatewayOptions, turn::ChatTurn};
use pending::{PendingWrite, report_lost};
use retry_queues::RetryQueues;
use worker::TurnWorker;

/// Stores turns in a separate task, so that neither a slow store nor a disconnected client delays a chat. Queued turns
/// are stored in one transaction. A turn that the store refuses is retried separately; only later turns of the same
/// conversation wait for it.
#[derive(Debug, Clone)]
pub(super) struct TurnWriter {
    queue: mpsc::UnboundedSender<PendingWrite>,
    /// A permit for each turn that may wait or be retried.
    permits: Arc<Semaphore>,
    tracker: TaskTracker,
    timeout: Duration,
}

impl TurnWriter {
    /// Starts the task on this runtime. The task ends when the last clone of the writer is dropped.
    pub(super) fn start(engine: MemoryEngine, options: &GatewayOptions, runtime: &Handle) -> Self {
        let (queue, entries) = mpsc::unbounded_channel();
        runtime.spawn(Arc::new(TurnWorker { engine, retries: RetryQueues::default() }).run(entries));
        let permits = Arc::new(Semaphore::new(options.max_queued_turns.clamp(1, Semaphore::MAX_PERMITS)));
        Self { queue, permits, tracker: TaskTracker::new(), timeout: options.store_timeout }
    }

    /// Queues a turn, and waits until it is stored or `store_timeout` has passed. Returns true if it is stored by then.
    /// After a time-out the turn may still be stored. One that cannot be queued or stored is counted and logged.
    ///
    /// # Cancel safety
    /// A queued turn is stored even if the future is dropped.
    pub(super) async fn write(&self, turn: ChatTurn) -> bool {
        let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() else {
            report_lost(&turn, "the queue is full");
            return false;
        };
        let (stored, receiver) = oneshot::channel();
        let audit = AuditContext::current();
        let pending = PendingWrite { turn, audit, stored, _permit: permit, _tracked: self.tracker.token() };
        if let Err(rejected) = self.queue.send(pending) {
            report_lost(&rejected.0.turn, "the task that stores turns has stopped");
            return false;
        }
        matches!(timeout(self.timeout, receiver).await, Ok(Ok(true)))
    }

    /// Waits until all queued turns are stored or dropped.
    pub(super) async fn drain(&self) {
        self.tracker.close();
        self.tracker.wait().await;
        self.tracker.reopen();
    }
}
