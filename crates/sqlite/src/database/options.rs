//! Options of a SQLite store.

use std::{num::NonZero, time::Duration};

use memory_engine_core::{Error, Result};

use crate::database::encryption::EncryptionKey;

/// Maximum `busy_timeout`: SQLite counts milliseconds in 32 bits.
const MAX_BUSY_TIMEOUT: Duration = Duration::from_millis(i32::MAX as u64);
/// Maximum number of readers. Each is a thread with a connection.
const MAX_READERS: usize = 256;
/// Maximum size in an option, in bytes: 64 TiB.
const MAX_BYTES: u64 = 1 << 46;

/// The durability of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Synchronous {
    /// Every commit is on the disk before it is acknowledged. Only claims, completions and failures of background jobs
    /// reach the disk with the next commit: after a power failure these jobs run again.
    #[default]
    Full,
    /// The log reaches the disk at checkpoints. A power failure can undo the latest commits, deletions
    /// among them, but does not damage the file. A crash of the process undoes nothing.
    Normal,
}

impl Synchronous {
    pub(crate) fn pragma(self) -> &'static str {
        match self {
            Self::Full => "FULL",
            Self::Normal => "NORMAL",
        }
    }
}

/// Settings of a SQLite file: threads, caches, waits and durability.
///
/// ```
/// use std::time::Duration;
/// use memory_engine_sqlite::{SqliteOptions, Synchronous};
///
/// let options = SqliteOptions::default()
///     .with_cache_bytes(256 << 20)
///     .with_busy_timeout(Duration::from_secs(20))
///     .with_synchronous(Synchronous::Normal);
/// assert!(options.validate().is_ok());
/// assert!(options.with_readers(0).validate().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SqliteOptions {
    /// Maximum time that a write waits for the write lock of another process, up to 24 days. Default: 5 seconds.
    pub busy_timeout: Duration,
    /// Number of searches and reads that run at the same time, 1 to 256. Each has a thread and a page cache of its own.
    /// Default: the number of cores, at least 2 and at most 4.
    pub readers: usize,
    /// Size of the page caches of all connections together, in bytes. The writer has two shares, each reader one. A
    /// smaller cache makes large memories slower. Default: 80 MB.
    pub cache_bytes: usize,
    /// Number of calls that may wait in each queue before the next caller has to wait, at least 1. Default: 256.
    pub queue_length: usize,
    /// The durability of a commit. Default: [`Synchronous::Full`].
    pub synchronous: Synchronous,
    /// Size of the part of the file that each connection maps into memory, in bytes; 0 for none. The operating system
    /// shares mapped pages with its file cache. An I/O error in a mapped page ends the process. Default: 0.
    pub mmap_bytes: u64,
    /// Size to which SQLite truncates the write-ahead log when it restarts the log, in bytes, up to 64 TiB. Default:
    /// none; the log keeps its largest size until the store is closed.
    pub max_log_bytes: Option<u64>,
    /// The key of an encrypted file; a new file is encrypted with it. Needs the feature `encryption`. Default: none.
    pub encryption_key: Option<EncryptionKey>,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            busy_timeout: Duration::from_secs(5),
            readers: std::thread::available_parallelism().map_or(2, NonZero::get).clamp(2, 4),
            cache_bytes: 80_000 << 10,
            queue_length: 256,
            synchronous: Synchronous::default(),
            mmap_bytes: 0,
            max_log_bytes: None,
            encryption_key: None,
        }
    }
}

impl SqliteOptions {
    /// Sets [`busy_timeout`](Self::busy_timeout).
    #[must_use]
    pub fn with_busy_timeout(mut self, busy_timeout: Duration) -> Self {
        self.busy_timeout = busy_timeout;
        self
    }

    /// Sets [`readers`](Self::readers).
    #[must_use]
    pub fn with_readers(mut self, readers: usize) -> Self {
        self.readers = readers;
        self
    }

    /// Sets [`cache_bytes`](Self::cache_bytes).
    #[must_use]
    pub fn with_cache_bytes(mut self, cache_bytes: usize) -> Self {
        self.cache_bytes = cache_bytes;
        self
    }

    /// Sets [`queue_length`](Self::queue_length).
    #[must_use]
    pub fn with_queue_length(mut self, queue_length: usize) -> Self {
        self.queue_length = queue_length;
        self
    }

    /// Sets [`synchronous`](Self::synchronous).
    #[must_use]
    pub fn with_synchronous(mut self, synchronous: Synchronous) -> Self {
        self.synchronous = synchronous;
        self
    }

    /// Sets [`mmap_bytes`](Self::mmap_bytes).
    #[must_use]
    pub fn with_mmap_bytes(mut self, mmap_bytes: u64) -> Self {
        self.mmap_bytes = mmap_bytes;
        self
    }

    /// Sets [`max_log_bytes`](Self::max_log_bytes).
    #[must_use]
    pub fn with_max_log_bytes(mut self, max_log_bytes: u64) -> Self {
        self.max_log_bytes = Some(max_log_bytes);
        self
    }

    /// Sets [`encryption_key`](Self::encryption_key).
    #[must_use]
    pub fn with_encryption_key(mut self, key: EncryptionKey) -> Self {
        self.encryption_key = Some(key);
        self
    }

    /// Checks every value against its range. Opening a store does this too.
    ///
    /// # Errors
    /// `InvalidInput`, which names the option and its range.
    pub fn validate(&self) -> Result<()> {
        let refuse = |message: &str| Err(Error::invalid("open", message.to_owned()));
        if self.busy_timeout > MAX_BUSY_TIMEOUT {
            return refuse("busy_timeout is too long; choose at most 24 days");
        }
        if !(1..=MAX_READERS).contains(&self.readers) {
            return refuse("readers is out of range; choose 1 to 256");
        }
        if self.queue_length == 0 {
            return refuse("queue_length is 0; choose at least 1");
        }
        if self.cache_bytes as u64 > MAX_BYTES || self.mmap_bytes > MAX_BYTES {
            return refuse("cache_bytes or mmap_bytes is too large; choose at most 64 TiB");
        }
        if self.max_log_bytes.is_some_and(|bytes| bytes > MAX_BYTES) {
            return refuse("max_log_bytes is too large; choose at most 64 TiB");
        }
        Ok(())
    }

    /// Returns one share of the page cache, in KiB.
    pub(crate) fn cache_share_kib(&self) -> i64 {
        i64::try_from((self.cache_bytes >> 10) / (self.readers + 2)).unwrap_or(i64::MAX / 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cache_is_shared_by_all_connections() {
        let default = SqliteOptions::default().with_readers(3);
        assert_eq!(default.cache_share_kib(), 16_000);
        let small = default.with_cache_bytes(10 << 20).with_readers(8);
        assert_eq!(small.cache_share_kib() * (8 + 2), 10 << 10);
        assert_eq!(small.with_cache_bytes(0).cache_share_kib(), 0);
    }

    #[test]
    fn values_out_of_range_are_refused_by_name() {
        let default = SqliteOptions::default;
        assert!(default().validate().is_ok());
        for (options, name) in [
            (default().with_readers(0), "readers"),
            (default().with_readers(257), "readers"),
            (default().with_queue_length(0), "queue_length"),
            (default().with_busy_timeout(Duration::from_secs(1 << 32)), "busy_timeout"),
            (default().with_mmap_bytes(u64::MAX), "mmap_bytes"),
            (default().with_max_log_bytes(u64::MAX), "max_log_bytes"),
        ] {
            let e = options.validate().unwrap_err();
            assert!(e.message().contains(name), "{e}");
        }
    }
}
