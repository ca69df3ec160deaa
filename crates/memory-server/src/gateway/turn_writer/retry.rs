//! Retries turns that the store refused.

use std::{sync::Arc, time::Duration};

use memory_engine::{ErrorKind, Result, Scope, audit::in_context};
use tokio::time::sleep;

use super::{
    pending::{PendingWrite, report_lost},
    plan::TurnWriteOutcome,
    worker::TurnWorker,
};
use crate::gateway::turn::ChatTurn;

/// Maximum number of attempts per turn.
const MAX_ATTEMPTS: u32 = 5;
/// The wait after the first attempt. It doubles after each further one.
const FIRST_BACKOFF: Duration = Duration::from_millis(200);

impl TurnWorker {
    /// Stores a refused turn, and then the later turns of its session, one after another.
    pub(super) async fn retry_session(self: Arc<Self>, address: Scope, refused: PendingWrite) {
        let mut next = Some(refused);
        while let Some(pending) = next {
            match in_context(pending.audit.clone(), self.store_with_retries(&pending.turn)).await {
                Ok(outcome) => self.finish(pending, outcome).await,
                Err(e) => {
                    report_lost(&pending.turn, &e.to_string());
                    let _ = pending.stored.send(false);
                }
            }
            next = self.retries.pop(&address);
        }
    }

    /// Stores one turn. Retries transient errors and conflicts.
    async fn store_with_retries(&self, turn: &ChatTurn) -> Result<TurnWriteOutcome> {
        let mut backoff = FIRST_BACKOFF;
        for _ in 1..MAX_ATTEMPTS {
            match self.store_one(turn).await {
                Err(e) if e.is_transient() || e.kind() == ErrorKind::Conflict => sleep(backoff).await,
                outcome => return outcome,
            }
            backoff *= 2;
        }
        self.store_one(turn).await
    }
}
