//! How a file is opened.

use std::{sync::Arc, time::Duration};

use memory_core::{Clock, EmbeddingSpace, SystemClock};

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
    /// How many searches and reads run at the same time; 3 unless set, and 1 at the least.
    pub readers: usize,
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
    /// [`GenerationStore::switch`](memory_vector_store::GenerationStore::switch). Terms are dealt with as
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
            readers: 3,
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
