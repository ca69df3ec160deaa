//! The task that stores turns.

use std::sync::Arc;

use memory_engine::MemoryEngine;
use tokio::sync::mpsc;

use super::{pending::PendingWrite, retry_queues::RetryQueues};

/// Maximum number of turns per transaction.
const BATCH_TURNS: usize = 64;

/// The task that stores turns.
#[derive(Debug)]
pub(super) struct TurnWorker {
    pub(super) engine: MemoryEngine,
    pub(super) retries: RetryQueues,
}

impl TurnWorker {
    /// Stores turns until the last writer is dropped.
    pub(super) async fn run(self: Arc<Self>, mut entries: mpsc::UnboundedReceiver<PendingWrite>) {
        let mut batch = Vec::with_capacity(BATCH_TURNS);
        while entries.recv_many(&mut batch, BATCH_TURNS).await > 0 {
            let mut group: Vec<PendingWrite> = Vec::new();
            for entry in batch.drain(..) {
                // The records of a turn depend on the turn before it in the same session, which must be stored first.
                if group.iter().any(|other| other.turn.address == entry.turn.address) {
                    self.store_group(std::mem::take(&mut group)).await;
                }
                group.extend(self.retries.queue_if_retrying(entry, &self.engine));
            }
            self.store_group(group).await;
        }
    }

    /// Stores turns of different sessions, in one transaction per tenant. Turns for which that fails are retried in a
    /// separate task per session.
    async fn store_group(self: &Arc<Self>, group: Vec<PendingWrite>) {
        for mut refused in self.store_together(group).await {
            refused.turn.mask_secrets(&self.engine);
            let address = refused.turn.address.clone();
            self.retries.open(&address);
            tokio::spawn(Arc::clone(self).retry_session(address, refused));
        }
    }
}
