//! A turn that waits to be stored.

use std::{panic::AssertUnwindSafe, time::Duration};

use futures::FutureExt;
use memory_engine::{Error, ErrorKind, Result, audit::AuditContext};
use tokio::{
    sync::{OwnedSemaphorePermit, oneshot},
    time::timeout,
};
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::gateway::turn::ChatTurn;

/// Time limit of one access to the store.
const STORE_TIMEOUT: Duration = Duration::from_secs(30);

/// A turn that waits to be stored, with its permit.
#[derive(Debug)]
pub(super) struct PendingWrite {
    pub(super) turn: ChatTurn,
    /// The actor whose turn it is.
    pub(super) audit: AuditContext,
    /// Sends true once the turn is stored, false if it is dropped.
    pub(super) stored: oneshot::Sender<bool>,
    pub(super) _permit: OwnedSemaphorePermit,
    pub(super) _tracked: TaskTrackerToken,
}

/// Counts the outcome of a turn.
pub(super) fn count_turn(outcome: &'static str) {
    metrics::counter!("memory_gateway_turns_total", "outcome" => outcome).increment(1);
}

/// Counts and logs a turn that cannot be stored.
pub(super) fn report_lost(turn: &ChatTurn, reason: &str) {
    count_turn("lost");
    tracing::warn!(id = turn.request_id(), reason, "a turn of the chat gateway is not stored");
}

/// Runs an access to the store. Returns an error if it hangs or panics.
pub(super) async fn with_store_timeout<T>(access: impl Future<Output = Result<T>>) -> Result<T> {
    match timeout(STORE_TIMEOUT, AssertUnwindSafe(access).catch_unwind()).await {
        Ok(Ok(result)) => result,
        Ok(Err(_)) => {
            tracing::error!("the store panicked while it stored a turn of the chat gateway");
            Err(Error::new(ErrorKind::Internal, "gateway", "the store panicked"))
        }
        Err(_) => {
            let message = format!("the store took more than {} s", STORE_TIMEOUT.as_secs());
            Err(Error::new(ErrorKind::Timeout, "gateway", message))
        }
    }
}
