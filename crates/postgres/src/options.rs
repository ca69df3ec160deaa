//! How a database is opened.

use std::{sync::Arc, time::Duration};

use memory_engine_core::{Clock, EmbeddingSpace, SystemClock};

use crate::database::server::Secret;

/// What [`PostgresStore::connect`](crate::PostgresStore::connect) needs to know besides the address of the server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PostgresOptions {
    /// The space of the vectors.
    pub space: EmbeddingSpace,
    /// What the terms are made by: `Analyzer::fingerprint`.
    pub analyzer: String,
    /// Where the time of deletions and leases comes from; the machine's clock unless set.
    pub clock: Arc<dyn Clock>,
    /// How many connections there may be at once; 10 unless set, and 1 at the least.
    pub pool_size: u32,
    /// How long a call waits for a connection; 10 seconds unless set.
    pub connect_timeout: Duration,
    /// How long the server works on one statement before it gives up with `Timeout`; 30 seconds unless set. Migrations
    /// and the making of an index take as long as they take.
    pub statement_timeout: Duration,
    /// What to do about a database that was made with another space or analyzer; [`Mismatch::Refuse`] unless set.
    pub mismatch: Mismatch,
    /// The space of the embedder that this one takes the place of: a database of that space is dealt with as
    /// [`Mismatch::Refill`] does.
    pub replaced: Option<EmbeddingSpace>,
    /// Where the tables are; the connection's own schema (as a rule `public`) unless set. It is made when it is not there.
    pub schema: Option<String>,
    /// Over how many hash partitions a *new* database spreads each table; 0, plain tables, unless set.
    pub partitions: u32,
    /// Whether the index for near vectors holds numbers of 16 bits: half the memory. The vectors themselves stay as they
    /// are, and scores are computed from them.
    pub half_precision: bool,
    /// Up to how many vectors within the searched scope each of them is looked at; above, the index proposes.
    pub exact_up_to: u64,
    pub(crate) replica: Option<Secret>,
}

/// What to do about a database that was made with another embedding space or another analyzer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mismatch {
    /// Fail with `SchemaMismatch`, and leave the database as it is.
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

impl PostgresOptions {
    /// Up to how many vectors an exact scan is the faster one; `docs/SCALING.md` has the figures.
    pub const EXACT_UP_TO: u64 = 5_000;

    /// The usual options for vectors of this space and terms of the analyzer with this fingerprint.
    pub fn new(space: EmbeddingSpace, analyzer: impl Into<String>) -> Self {
        Self {
            space,
            analyzer: analyzer.into(),
            clock: Arc::new(SystemClock),
            pool_size: 10,
            connect_timeout: Duration::from_secs(10),
            statement_timeout: Duration::from_secs(30),
            mismatch: Mismatch::Refuse,
            replaced: None,
            schema: None,
            partitions: 0,
            half_precision: false,
            exact_up_to: Self::EXACT_UP_TO,
            replica: None,
        }
    }

    /// Takes the time of deletions and leases from this clock.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Opens that many connections at the most.
    #[must_use]
    pub fn with_pool_size(mut self, pool_size: u32) -> Self {
        self.pool_size = pool_size.max(1);
        self
    }

    /// Waits that long for a connection.
    #[must_use]
    pub fn with_connect_timeout(mut self, connect_timeout: Duration) -> Self {
        self.connect_timeout = connect_timeout;
        self
    }

    /// Lets the server work that long on one statement.
    #[must_use]
    pub fn with_statement_timeout(mut self, statement_timeout: Duration) -> Self {
        self.statement_timeout = statement_timeout;
        self
    }

    /// Deals with a database of another space or analyzer in this way.
    #[must_use]
    pub fn with_mismatch(mut self, mismatch: Mismatch) -> Self {
        self.mismatch = mismatch;
        self
    }

    /// Takes the place of the embedder of that space.
    #[must_use]
    pub fn with_replaced(mut self, space: EmbeddingSpace) -> Self {
        self.replaced = Some(space);
        self
    }

    /// Keeps the tables in this schema.
    #[must_use]
    pub fn with_schema(mut self, schema: impl Into<String>) -> Self {
        self.schema = Some(schema.into());
        self
    }

    /// Spreads each table of a new database over that many partitions, by the hash of tenant and user.
    #[must_use]
    pub fn with_partitions(mut self, partitions: u32) -> Self {
        self.partitions = partitions;
        self
    }

    /// Whether the index for near vectors holds numbers of 16 bits.
    #[must_use]
    pub fn with_half_precision(mut self, half_precision: bool) -> Self {
        self.half_precision = half_precision;
        self
    }

    /// Looks at every vector of a scope that has up to that many.
    #[must_use]
    pub fn with_exact_up_to(mut self, vectors: u64) -> Self {
        self.exact_up_to = vectors;
        self
    }

    /// Reads from this server, a streaming replica of the one that is written to. What was just written may be missing
    /// there for a moment. When the replica cannot be reached, the other one answers.
    #[must_use]
    pub fn with_replica(mut self, url: impl Into<String>) -> Self {
        self.replica = Some(Secret::new(url.into()));
        self
    }
}
