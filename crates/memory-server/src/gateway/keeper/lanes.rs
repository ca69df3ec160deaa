//! The conversations whose turns are tried again.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use memory_engine::{ErrorKind, Result, Scope};
use parking_lot::Mutex;
use tokio::time::sleep;

use super::{Keeping, Waiting, lost, plan::Kept};
use crate::gateway::turn::Turn;

/// How often a turn is tried to be stored, and how long it is left alone after the first time.
const TRIES: u32 = 5;
const FIRST_WAIT: Duration = Duration::from_millis(200);

/// The conversations of which a turn is tried again, with the turns that wait behind it: they follow from what it stores.
#[derive(Debug, Default)]
pub(super) struct Lanes(Mutex<BTreeMap<Scope, VecDeque<Waiting>>>);

impl Lanes {
    /// Has a turn wait behind the one that is tried again, if there is one of its conversation; gives it back if not.
    pub(super) fn queue(&self, entry: Waiting) -> Option<Waiting> {
        match self.0.lock().get_mut(&entry.turn.address) {
            Some(lane) => {
                lane.push_back(entry);
                None
            }
            None => Some(entry),
        }
    }

    /// From now on the turns of this conversation wait.
    pub(super) fn open(&self, address: &Scope) {
        self.0.lock().entry(address.clone()).or_default();
    }

    /// The turn that waits longest; when there is none, no more will wait.
    fn next(&self, address: &Scope) -> Option<Waiting> {
        let mut lanes = self.0.lock();
        let next = lanes.get_mut(address).and_then(VecDeque::pop_front);
        if next.is_none() {
            lanes.remove(address);
        }
        next
    }
}

impl Keeping {
    /// Stores a turn that was refused, and then those that have come after it, one after another.
    pub(super) async fn follow(self: Arc<Self>, address: Scope, refused: Waiting) {
        let mut next = Some(refused);
        while let Some(waiting) = next {
            match self.keep_one(&waiting.turn).await {
                Ok(kept) => self.kept(waiting, kept).await,
                Err(e) => {
                    lost(&waiting.turn, &e.to_string());
                    let _ = waiting.kept.send(false);
                }
            }
            next = self.lanes.next(&address);
        }
    }

    /// Stores one turn, again and again while that may help.
    async fn keep_one(&self, turn: &Turn) -> Result<Kept> {
        let mut wait = FIRST_WAIT;
        for _ in 1..TRIES {
            match self.try_one(turn).await {
                Err(e) if e.is_transient() || e.kind() == ErrorKind::Conflict => sleep(wait).await,
                outcome => return outcome,
            }
            wait *= 2;
        }
        self.try_one(turn).await
    }
}
