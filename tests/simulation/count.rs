//! Counts of what the histories did, so that a fault that is never injected is seen.

use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, Clone, Copy)]
pub(crate) enum Count {
    Operations,
    PowerFailures,
    Kills,
    FailedWrites,
}

static COUNTS: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];

impl Count {
    pub(crate) fn add(self) {
        self.add_many(1);
    }

    pub(crate) fn add_many(self, count: u64) {
        COUNTS[self as usize].fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn get(self) -> u64 {
        COUNTS[self as usize].load(Ordering::Relaxed)
    }
}
