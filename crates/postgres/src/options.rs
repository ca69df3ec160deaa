//! Options of a Postgres store.

use std::time::Duration;

use memory_engine_core::{Error, ErrorKind, Result};

use crate::database::secret::Secret;

/// The longest timeout: the server counts milliseconds in 32 bits.
const MAX_TIMEOUT: Duration = Duration::from_millis(i32::MAX as u64);
/// The largest number of partitions: each table gets that many.
const MAX_PARTITIONS: u32 = 1024;

/// Settings of a Postgres database: connections, timeouts, schema and vector index.
///
/// ```
/// use std::time::Duration;
/// use memory_engine_postgres::PostgresOptions;
///
/// let options = PostgresOptions::default()
///     .with_max_connections(20)
///     .with_statement_timeout(Duration::from_secs(5))
///     .with_schema("memory");
/// assert!(options.validate().is_ok());
/// assert!(options.with_schema("a b").validate().is_err());
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PostgresOptions {
    /// Maximum number of connections, at least 1. A [replica](Self::with_replica) has as many. Default: 10.
    pub max_connections: u32,
    /// Maximum time that a call waits for a connection; after that it fails with `Unavailable`. At most 24 days.
    /// Default: 10 seconds.
    pub acquire_timeout: Duration,
    /// Time limit of one statement; beyond it the call fails with `Timeout`. 0 for none, at most 24 days. Migrations
    /// and building an index have no limit. Default: 30 seconds.
    pub statement_timeout: Duration,
    /// Schema of the tables, created if it is missing: 1 to 63 lower-case letters, digits and `_`. Default: the schema
    /// of the connection, usually `public`.
    pub schema: Option<String>,
    /// Number of hash partitions of each table in a *new* database, at most 1024; 0 for plain tables. Default: 0.
    pub partitions: u32,
    /// True if the vector index holds 16-bit numbers, which halves its memory. Scores are computed from the stored
    /// 32-bit vectors. Default: false.
    pub half_precision: bool,
    /// Number of vectors within the searched scope up to which all are compared; above, the index selects candidates.
    /// Default: [`EXACT_UP_TO`](Self::EXACT_UP_TO).
    pub exact_up_to: u64,
    pub(crate) replica: Option<Secret>,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            max_connections: 10,
            acquire_timeout: Duration::from_secs(10),
            statement_timeout: Duration::from_secs(30),
            schema: None,
            partitions: 0,
            half_precision: false,
            exact_up_to: Self::EXACT_UP_TO,
            replica: None,
        }
    }
}

impl PostgresOptions {
    /// Number of vectors up to which an exact scan is faster than the index; `docs/design/scaling.md` has the figures.
    pub const EXACT_UP_TO: u64 = 5_000;

    /// Sets [`max_connections`](Self::max_connections).
    #[must_use]
    pub fn with_max_connections(mut self, max_connections: u32) -> Self {
        self.max_connections = max_connections;
        self
    }

    /// Sets [`acquire_timeout`](Self::acquire_timeout).
    #[must_use]
    pub fn with_acquire_timeout(mut self, acquire_timeout: Duration) -> Self {
        self.acquire_timeout = acquire_timeout;
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

    /// Checks every value against its range. Connecting does this too.
    ///
    /// # Errors
    /// `InvalidInput`, which names the option and its range.
    pub fn validate(&self) -> Result<()> {
        let refuse = |message: &str| Err(Error::new(ErrorKind::InvalidInput, "connect", message.to_owned()));
        if self.max_connections == 0 {
            return refuse("max_connections is at least 1");
        }
        if self.acquire_timeout > MAX_TIMEOUT || self.statement_timeout > MAX_TIMEOUT {
            return refuse("acquire_timeout and statement_timeout are at most 24 days");
        }
        if self.partitions > MAX_PARTITIONS {
            return refuse("partitions is at most 1024");
        }
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        match &self.schema {
            Some(schema) if schema.is_empty() || schema.len() > 63 || !schema.chars().all(plain) => {
                refuse("a schema's name has 1 to 63 lower-case letters, digits and '_'")
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_out_of_range_are_refused_by_name() {
        let usual = PostgresOptions::default;
        assert!(usual().with_schema("memory_1").validate().is_ok());
        for (options, name) in [
            (usual().with_max_connections(0), "max_connections"),
            (usual().with_acquire_timeout(Duration::MAX), "acquire_timeout"),
            (usual().with_statement_timeout(Duration::MAX), "statement_timeout"),
            (usual().with_partitions(1025), "partitions"),
        ] {
            let e = options.validate().unwrap_err();
            assert!(e.message().contains(name), "{e}");
        }
        for odd in ["", "a b", "a;b", "\"", "Ä"] {
            assert_eq!(usual().with_schema(odd).validate().unwrap_err().kind(), ErrorKind::InvalidInput);
        }
    }
}
