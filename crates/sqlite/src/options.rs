//! How a file is opened.

use std::{num::NonZero, sync::Arc, time::Duration};

use memory_engine_core::{Clock, EmbeddingSpace, SystemClock};

/// What [`SqliteStore::open`](crate::SqliteStore::open) needs to know besides the path.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SqliteOptions {
    /// The space of the vectors.
    pub space: EmbeddingSpace,
    /// What the terms are made by: `Analyzer::fingerprint`.
    pub analyzer: String,
    /// Where the time of deletions and leases comes from; the machine's clock unless set.
    pub clock: Arc<dyn Clock>,
    /// How long a write waits for another process that is writing; 5 seconds unless set.
    pub busy_timeout: Duration,
    /// How many searches and reads run at the same time; unless set, as many as there are cores, but 2 at the least
    /// and 4 at the most. Each keeps pages of its own.
    pub readers: usize,
    /// How many bytes of the file all connections together keep in memory beside the system; 80 MB unless set. The writer has
    /// two parts of it, each reader one. Less costs nothing but time: what is not kept is read again.
    pub cache_bytes: usize,
    /// How many calls may wait in each queue before the next caller has to; 256 unless set, and 1 at the least.
    pub queue_length: usize,
    /// What to do about a file that was made with another space or analyzer; [`Mismatch::Refuse`] unless set.
    pub mismatch: Mismatch,
    /// The space of the embedder that this one takes the place of: a file of that space is dealt with as
    /// [`Mismatch::Refill`] does.
    pub replaced: Option<EmbeddingSpace>,
}

/// What to do about a file that was made with another embedding space or another analyzer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mismatch {
    /// Fail with `SchemaMismatch`, and leave the file as it is.
    #[default]
    Refuse,
    /// Open it and leave its indexes as they are. Its records can be read; what needs an index that does not fit fails with
    /// `SchemaMismatch`.
    Leave,
    /// Begin a second generation of vectors beside those that do not fit, or go on with it: searches go by the old one until
    /// [`GenerationStore::switch`](memory_engine_vector_store::GenerationStore::switch). Terms are dealt with as
    /// [`Rebuild`](Self::Rebuild) does.
    Refill,
    /// Empty the indexes that do not fit any more and queue every active record for them, in one transaction.
    Rebuild,
}

impl SqliteOptions {
    /// The usual options for vectors of this space and terms of the analyzer with this fingerprint.
    pub fn new(space: EmbeddingSpace, analyzer: impl Into<String>) -> Self {
        Self {
            space,
            analyzer: analyzer.into(),
            clock: Arc::new(SystemClock),
            busy_timeout: Duration::from_secs(5),
            readers: std::thread::available_parallelism().map_or(2, NonZero::get).clamp(2, 4),
            cache_bytes: 80_000 << 10,
            queue_length: 256,
            mismatch: Mismatch::Refuse,
            replaced: None,
        }
    }

    /// Takes the time of deletions and leases from this clock.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Waits that long for another process that is writing.
    #[must_use]
    pub fn with_busy_timeout(mut self, busy_timeout: Duration) -> Self {
        self.busy_timeout = busy_timeout;
        self
    }

    /// Runs that many searches and reads at the same time.
    #[must_use]
    pub fn with_readers(mut self, readers: usize) -> Self {
        self.readers = readers.max(1);
        self
    }

    /// Keeps at most so many bytes of the file in memory.
    #[must_use]
    pub fn with_cache_bytes(mut self, cache_bytes: usize) -> Self {
        self.cache_bytes = cache_bytes;
        self
    }

    /// A part of the cache, in KiB: a reader's.
    pub(crate) fn cache_part(&self) -> i64 {
        i64::try_from((self.cache_bytes >> 10) / (self.readers.max(1) + 2)).unwrap_or(i64::MAX / 4)
    }

    /// Lets that many calls wait in each queue.
    #[must_use]
    pub fn with_queue_length(mut self, queue_length: usize) -> Self {
        self.queue_length = queue_length.max(1);
        self
    }

    /// Takes the place of the embedder of that space.
    #[must_use]
    pub fn with_replaced(mut self, space: EmbeddingSpace) -> Self {
        self.replaced = Some(space);
        self
    }

    /// Deals with a file of another space or analyzer in this way.
    #[must_use]
    pub fn with_mismatch(mut self, mismatch: Mismatch) -> Self {
        self.mismatch = mismatch;
        self
    }
}

#[cfg(test)]
mod tests {
    use memory_engine_core::EmbeddingSpace;

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
