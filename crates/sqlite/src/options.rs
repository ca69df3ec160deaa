//! Options of a SQLite store.

use std::{num::NonZero, time::Duration};

use memory_engine_core::EmbeddingSpace;
use memory_engine_sql::{options::StoreOptions, store_option_methods};

/// Options of [`SqliteStore::open`](crate::SqliteStore::open).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SqliteOptions {
    /// The options that every SQL backend has: embedding space, analyzer, clock, mismatch.
    pub store: StoreOptions,
    /// How long a write waits for another process that is writing. Default: 5 seconds.
    pub busy_timeout: Duration,
    /// Number of searches and reads that run at the same time, at least 1. Each has a page cache of its own. Default: the
    /// number of cores, at least 2 and at most 4.
    pub readers: usize,
    /// Size of the page caches of all connections together, in bytes. The writer has two shares, each reader one. A smaller
    /// cache only costs time. Default: 80 MB.
    pub cache_bytes: usize,
    /// Number of calls that may wait in each queue before the next caller has to wait, at least 1. Default: 256.
    pub queue_length: usize,
}

impl SqliteOptions {
    /// The usual options for vectors of this space and terms of the analyzer with this fingerprint.
    pub fn new(space: EmbeddingSpace, analyzer: impl Into<String>) -> Self {
        Self {
            store: StoreOptions::new(space, analyzer),
            busy_timeout: Duration::from_secs(5),
            readers: std::thread::available_parallelism().map_or(2, NonZero::get).clamp(2, 4),
            cache_bytes: 80_000 << 10,
            queue_length: 256,
        }
    }

    store_option_methods!();

    /// Sets [`busy_timeout`](Self::busy_timeout).
    #[must_use]
    pub fn with_busy_timeout(mut self, busy_timeout: Duration) -> Self {
        self.busy_timeout = busy_timeout;
        self
    }

    /// Sets [`readers`](Self::readers).
    #[must_use]
    pub fn with_readers(mut self, readers: usize) -> Self {
        self.readers = readers.max(1);
        self
    }

    /// Sets [`cache_bytes`](Self::cache_bytes).
    #[must_use]
    pub fn with_cache_bytes(mut self, cache_bytes: usize) -> Self {
        self.cache_bytes = cache_bytes;
        self
    }

    /// One share of the page cache, in KiB.
    pub(crate) fn cache_part(&self) -> i64 {
        i64::try_from((self.cache_bytes >> 10) / (self.readers.max(1) + 2)).unwrap_or(i64::MAX / 4)
    }

    /// Sets [`queue_length`](Self::queue_length).
    #[must_use]
    pub fn with_queue_length(mut self, queue_length: usize) -> Self {
        self.queue_length = queue_length.max(1);
        self
    }
}

impl From<StoreOptions> for SqliteOptions {
    fn from(store: StoreOptions) -> Self {
        let defaults = Self::new(store.space.clone(), store.analyzer.clone());
        Self { store, ..defaults }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_parted_among_all_connections() {
        let usual = SqliteOptions::new(EmbeddingSpace::cosine("any", 8), "any").with_readers(3);
        assert_eq!(usual.cache_part(), 16_000);
        let small = usual.with_cache_bytes(10 << 20).with_readers(8);
        assert_eq!(small.cache_part() * (8 + 2), 10 << 10);
        assert_eq!(small.with_cache_bytes(0).cache_part(), 0);
    }
}
