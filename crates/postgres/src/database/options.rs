//! Options of a Postgres store.

use std::time::Duration;

use memory_engine_core::{Error, ErrorKind, Result};

use crate::database::secret_url::SecretUrl;

/// Maximum timeout. The server counts milliseconds in 32 bits.
const MAX_TIMEOUT: Duration = Duration::from_millis(i32::MAX as u64);
/// Maximum number of partitions of a table.
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
    /// Time limit of one statement; after that the call fails with `Timeout`. At most 24 days; 0 for no limit.
    /// Migrations and index builds have no limit. Default: 30 seconds.
    pub statement_timeout: Duration,
    /// Schema of the tables, 1 to 63 lower-case letters, digits and `_`. It is created if it is missing. Default: the
    /// schema of the connection, usually `public`.
    pub schema: Option<String>,
    /// Number of hash partitions of each table in a *new* database, at most 1024; 0 for plain tables. Default: 0.
    pub partitions: u32,
    /// True if the vector index stores 16-bit numbers, which halves its memory. Scores are computed from the stored
    /// 32-bit vectors in any case. Default: false.
    pub half_precision: bool,
    /// Maximum number of vectors in the searched scope for an exact search. With more vectors, the index selects
    /// candidates. Default: [`EXACT_UP_TO`](Self::EXACT_UP_TO), 5000.
    pub exact_up_to: u64,
    pub(crate) replica: Option<SecretUrl>,
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

    /// Sets a streaming replica of the server, which answers reads. Recent writes may be missing there for a moment. If
    /// the replica cannot be reached, reads use the primary. Default: no replica.
    #[must_use]
    pub fn with_replica(mut self, url: impl Into<String>) -> Self {
        self.replica = Some(SecretUrl::new(url.into()));
        self
    }

    /// Checks that every value is within its range. Connecting also does this.
    ///
    /// # Errors
    /// `InvalidInput`. The message names the option and its range.
    pub fn validate(&self) -> Result<()> {
        let refuse = |message: &str| Err(Error::new(ErrorKind::InvalidInput, "connect", message.to_owned()));
        if self.max_connections == 0 {
            return refuse("max_connections must be at least 1");
        }
        if self.acquire_timeout > MAX_TIMEOUT || self.statement_timeout > MAX_TIMEOUT {
            return refuse("acquire_timeout and statement_timeout must be at most 24 days");
        }
        if self.partitions > MAX_PARTITIONS {
            return refuse("partitions must be at most 1024");
        }
        let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        match &self.schema {
            Some(schema) if schema.is_empty() || schema.len() > 63 || !schema.chars().all(is_allowed) => {
                refuse("schema must be 1 to 63 lower-case letters, digits or '_'")
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_option_that_is_out_of_range() {
        let default_options = PostgresOptions::default;
        assert!(default_options().with_schema("memory_1").validate().is_ok());
        for (options, name) in [
            (default_options().with_max_connections(0), "max_connections"),
            (default_options().with_acquire_timeout(Duration::MAX), "acquire_timeout"),
            (default_options().with_statement_timeout(Duration::MAX), "statement_timeout"),
            (default_options().with_partitions(1025), "partitions"),
        ] {
            let e = options.validate().unwrap_err();
            assert!(e.message().contains(name), "{e}");
        }
        for invalid in ["", "a b", "a;b", "\"", "Ä"] {
            assert_eq!(default_options().with_schema(invalid).validate().unwrap_err().kind(), ErrorKind::InvalidInput);
        }
    }
}
