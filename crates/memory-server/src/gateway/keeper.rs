//! Storing turns, behind the chat.

mod branch;
mod lanes;
mod plan;

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures::FutureExt;
use memory_engine::{Error, ErrorKind, MemoryEngine, Result};
use tokio::{
    runtime::Handle,
    sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot},
    time::timeout,
};
use tokio_util::task::{TaskTracker, task_tracker::TaskTrackerToken};

use super::{GatewayOptions, sessions::Sessions, turn::Turn};
use lanes::Lanes;

/// How many turns are stored in one transaction.
const BATCH: usize = 64;
/// How long the store may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Takes turns and stores them in a task of its own, so that neither a slow store nor a client that is gone matters to a
/// chat. Many that wait are stored in one transaction. What the store refuses is tried again beside all others; only later
/// turns of the same conversation wait for it.
#[derive(Debug, Clone)]
pub(super) struct Keeper {
    queue: mpsc::UnboundedSender<Waiting>,
    /// One for each turn that may wait, whether for its turn or to be tried again.
    places: Arc<Semaphore>,
    all: TaskTracker,
    patience: Duration,
}

/// A turn that waits to be stored, with its place among them.
#[derive(Debug)]
struct Waiting {
    turn: Turn,
    kept: oneshot::Sender<bool>,
    _place: OwnedSemaphorePermit,
    _one_of_all: TaskTrackerToken,
}

#[derive(Debug)]
struct Keeping {
    engine: MemoryEngine,
    sessions: Arc<Sessions>,
    lanes: Lanes,
}

impl Keeper {
    /// Starts the task, on this runtime. It ends with the last handle on the keeper.
    pub(super) fn start(engine: MemoryEngine, sessions: Arc<Sessions>, options: &GatewayOptions, on: &Handle) -> Self {
        let (queue, entries) = mpsc::unbounded_channel();
        on.spawn(Arc::new(Keeping { engine, sessions, lanes: Lanes::default() }).run(entries));
        let places = Arc::new(Semaphore::new(options.queue.clamp(1, Semaphore::MAX_PERMITS)));
        Self { queue, places, all: TaskTracker::new(), patience: options.keep_deadline }
    }

    /// Hands over a turn, and waits until it is stored, but not for long. Whether it is: of one that is not, it may still become
    /// so; what cannot be handed over, or cannot be stored, is counted and told of.
    ///
    /// # Cancel safety
    /// What has been handed over is stored, whether anybody waits or not.
    pub(super) async fn keep(&self, turn: Turn) -> bool {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            lost(&turn, "the queue is full");
            return false;
        };
        let (kept, waiting) = oneshot::channel();
        let waits = Waiting { turn, kept, _place: place, _one_of_all: self.all.token() };
        if let Err(refused) = self.queue.send(waits) {
            lost(&refused.0.turn, "nobody keeps turns any more");
            return false;
        }
        matches!(timeout(self.patience, waiting).await, Ok(Ok(true)))
    }

    /// Waits until everything that was handed over is stored, or given up.
    pub(super) async fn drain(&self) {
        self.all.close();
        self.all.wait().await;
        self.all.reopen();
    }
}

/// What became of a turn.
fn count(outcome: &'static str) {
    metrics::counter!("memory_gateway_turns_total", "outcome" => outcome).increment(1);
}

fn lost(turn: &Turn, why: &str) {
    count("lost");
    tracing::warn!(id = turn.request(), why, "a turn of the chat gateway is not stored");
}

impl Keeping {
    async fn run(self: Arc<Self>, mut entries: mpsc::UnboundedReceiver<Waiting>) {
        let mut batch = Vec::with_capacity(BATCH);
        while entries.recv_many(&mut batch, BATCH).await > 0 {
            let mut wave: Vec<Waiting> = Vec::new();
            for entry in batch.drain(..) {
                // A turn is stored by what is there of its session: the one before it has to be.
                if wave.iter().any(|other| other.turn.address == entry.turn.address) {
                    self.keep(std::mem::take(&mut wave)).await;
                }
                wave.extend(self.lanes.queue(entry));
            }
            self.keep(wave).await;
        }
    }

    /// Stores turns of different sessions: in one transaction, and those for which that fails each by itself, in a task of its own.
    async fn keep(self: &Arc<Self>, wave: Vec<Waiting>) {
        for refused in self.keep_together(wave).await {
            let address = refused.turn.address.clone();
            self.lanes.open(&address);
            tokio::spawn(Arc::clone(self).follow(address, refused));
        }
    }
}

/// A store that hangs is one that fails, and so is one that panics.
async fn within<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let late = |_| Error::new(ErrorKind::Timeout, "gateway", format!("the store took over {} s", PATIENCE.as_secs()));
    let broken = |_| {
        tracing::error!("the store panicked over a turn of the chat gateway");
        Error::new(ErrorKind::Internal, "gateway", "the store panicked")
    };
    timeout(PATIENCE, AssertUnwindSafe(work).catch_unwind()).await.map_err(late)?.map_err(broken)?
}
