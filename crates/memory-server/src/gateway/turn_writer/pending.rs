//! A turn that waits to be stored.

use std::{panic::AssertUnwindSafe, time::Duration};

use futures::FutureExt;
use memory_engine::{Error, ErrorKind, Result};
use tokio::{
    sync::{OwnedSemaphorePermit, oneshot},
    time::timeout,
};
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::gateway::turn::Turn;

/// Time limit of one access to the store.
const STORE_TIMEOUT: Duration = Duration::from_secs(30);

/// A turn that waits to be stored, with its permit.
#[derive(Debug)]
pub(super) struct PendingWrite {
    pub(super) turn: Turn,
    /// Receives whether the turn is stored.
    pub(super) stored: oneshot::Sender<bool>,
    pub(super) _permit: OwnedSemaphorePermit,
    pub(super) _tracked: TaskTrackerToken,
}

/// Counts the outcome of a turn.
pub(super) fn count(outcome: &'static str) {
    metrics::counter!("memory_gateway_turns_total", "outcome" => outcome).increment(1);
}

/// Counts and logs a turn that cannot be stored.
pub(super) fn lost(turn: &Turn, why: &str) {
    count("lost");
    tracing::warn!(id = turn.request(), why, "a turn of the chat gateway is not stored");
}

/// Turns a store that hangs or panics into an error.
pub(super) async fn within<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let late =
        |_| Error::new(ErrorKind::Timeout, "gateway", format!("the store took over {} s", STORE_TIMEOUT.as_secs()));
    let broken = |_| {
        tracing::error!("the store panicked over a turn of the chat gateway");
        Error::new(ErrorKind::Internal, "gateway", "the store panicked")
    };
    timeout(STORE_TIMEOUT, AssertUnwindSafe(work).catch_unwind()).await.map_err(late)?.map_err(broken)?
}
