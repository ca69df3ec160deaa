//! Queues of the turns that wait for an earlier turn of their session.

use std::collections::{BTreeMap, VecDeque};

use memory_engine::{MemoryEngine, Scope};
use parking_lot::Mutex;

use super::pending::PendingWrite;

/// The sessions of which a turn is being retried, with the later turns that wait for it.
#[derive(Debug, Default)]
pub(super) struct RetryQueues(Mutex<BTreeMap<Scope, VecDeque<PendingWrite>>>);

impl RetryQueues {
    /// Queues a turn if an earlier one of its session is being retried, with its secrets masked. Returns it otherwise.
    pub(super) fn queue_if_retrying(&self, mut entry: PendingWrite, engine: &MemoryEngine) -> Option<PendingWrite> {
        match self.0.lock().get_mut(&entry.turn.address) {
            Some(queue) => {
                entry.turn.mask_secrets(engine);
                queue.push_back(entry);
                None
            }
            None => Some(entry),
        }
    }

    /// Opens the queue of a session: its later turns wait from now on.
    pub(super) fn open(&self, address: &Scope) {
        self.0.lock().entry(address.clone()).or_default();
    }

    /// Removes and returns the oldest turn of a queue. Closes the queue if it is empty.
    pub(super) fn pop(&self, address: &Scope) -> Option<PendingWrite> {
        let mut queues = self.0.lock();
        let oldest = queues.get_mut(address).and_then(VecDeque::pop_front);
        if oldest.is_none() {
            queues.remove(address);
        }
        oldest
    }
}
