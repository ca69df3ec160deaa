//! The clock of a case.

use std::sync::{Mutex, PoisonError};

use memory_engine::{Clock, SystemClock, Timestamp};

/// A clock that a case can set. Without a time it is the clock of the machine.
#[derive(Debug, Default)]
pub(crate) struct CaseClock(Mutex<Option<Timestamp>>);

impl CaseClock {
    /// Stops the clock at a time, or lets it run with `None`.
    pub(crate) fn set(&self, now: Option<Timestamp>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }
}

impl Clock for CaseClock {
    fn now(&self) -> Timestamp {
        let set = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        set.unwrap_or_else(|| SystemClock.now())
    }
}
