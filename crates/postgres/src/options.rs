//! Options of a Postgres store.

use std::time::Duration;

use memory_engine_core::EmbeddingSpace;
use memory_engine_sql::{options::StoreOptions, store_option_methods};

use crate::database::secret::Secret;

/// Options of [`PostgresStore::connect`](crate::PostgresStore::connect).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PostgresOptions {
    /// The options that every SQL backend has: embedding space, analyzer, clock, mismatch.
    pub store: StoreOptions,
    /// Maximum number of connections, at least 1. Default: 10.
    pub pool_size: u32,
    /// How long a call waits for a connection. Default: 10 seconds.
    pub connect_timeout: Duration,
    /// Time limit of one statement; beyond it the call fails with `Timeout`. Migrations and building an index have no
    /// limit. Default: 30 seconds.
    pub statement_timeout: Duration,
    /// Schema of the tables, created if it is missing. Default: the schema of the connection, usually `public`.
    pub schema: Option<String>,
    /// Number of hash partitions of each table in a *new* database; 0 for plain tables. Default: 0.
    pub partitions: u32,
    /// Whether the vector index holds 16-bit numbers, which halves its memory. Scores are computed from the stored 32-bit
    /// vectors. Default: false.
    pub half_precision: bool,
    /// Number of vectors within the searched scope up to which all are compared; above, the index selects candidates.
    /// Default: [`EXACT_UP_TO`](Self::EXACT_UP_TO).
    pub exact_up_to: u64,
    pub(crate) replica: Option<Secret>,
}

impl PostgresOptions {
    /// Number of vectors up to which an exact scan is faster than the index; `docs/SCALING.md` has the figures.
    pub const EXACT_UP_TO: u64 = 5_000;

    /// The usual options for vectors of this space and terms of the analyzer with this fingerprint.
    pub fn new(space: EmbeddingSpace, analyzer: impl Into<String>) -> Self {
        Self {
            store: StoreOptions::new(space, analyzer),
            pool_size: 10,
            connect_timeout: Duration::from_secs(10),
            statement_timeout: Duration::from_secs(30),
            schema: None,
            partitions: 0,
            half_precision: false,
            exact_up_to: Self::EXACT_UP_TO,
            replica: None,
        }
    }

    store_option_methods!();

    /// Sets [`pool_size`](Self::pool_size).
    #[must_use]
    pub fn with_pool_size(mut self, pool_size: u32) -> Self {
        self.pool_size = pool_size.max(1);
        self
    }

    /// Sets [`connect_timeout`](Self::connect_timeout).
    #[must_use]
    pub fn with_connect_timeout(mut self, connect_timeout: Duration) -> Self {
        self.connect_timeout = connect_timeout;
        self
    }

    /// Sets [`statement_timeout`](Self::statement_timeout).
    #[must_use]
    pub fn with_statement_timeout(mut self, statement_timeout: Duration) -> Self {
        self.statement_timeout = statement_timeout;
        self
    }

    /// Sets [`schema`](Self::schema).
    #[must_use]
    pub fn with_schema(mut self, schema: impl Into<String>) -> Self {
        self.schema = Some(schema.into());
        self
    }

    /// Sets [`partitions`](Self::partitions).
    #[must_use]
    pub fn with_partitions(mut self, partitions: u32) -> Self {
        self.partitions = partitions;
        self
    }

    /// Sets [`half_precision`](Self::half_precision).
    #[must_use]
    pub fn with_half_precision(mut self, half_precision: bool) -> Self {
        self.half_precision = half_precision;
        self
    }

    /// Sets [`exact_up_to`](Self::exact_up_to).
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

impl From<StoreOptions> for PostgresOptions {
    fn from(store: StoreOptions) -> Self {
        let defaults = Self::new(store.space.clone(), store.analyzer.clone());
        Self { store, ..defaults }
    }
}
