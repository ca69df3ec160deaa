//! The error type of all crates of the engine.

use std::{error, fmt, time::Duration};

use serde::{Deserialize, Serialize};

/// The result of every fallible call of the engine.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of an error, for callers that handle errors by kind. Its name, such as `invalid_input`, is the same in text
/// and in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// An argument is invalid. The message states what is valid.
    InvalidInput,
    /// The item does not exist within the scope of the call. It may exist outside of it.
    NotFound,
    /// The item exists already, or has changed since the caller read it.
    Conflict,
    /// A vector has other dimensions than the vectors of the store, or comes from another model.
    DimensionMismatch,
    /// The stored data were written with another schema, analyzer or embedder.
    SchemaMismatch,
    /// This backend or build does not support the operation.
    Unsupported,
    /// The record is outside of the caller's scope, or a service refused the credentials.
    Unauthorized,
    /// A service limits the rate of requests.
    RateLimited,
    /// The operation exceeded its time limit.
    Timeout,
    /// A file or service is temporarily unreachable.
    Unavailable,
    /// The engine or the store is closed, and the call had no effect. A retry fails in the same way; open it again.
    Closed,
    /// Stored data are corrupt.
    Corrupt,
    /// A bug in the engine.
    Internal,
}

crate::enum_names! {
    ErrorKind, "error kind" {
        InvalidInput => "invalid_input",
        NotFound => "not_found",
        Conflict => "conflict",
        DimensionMismatch => "dimension_mismatch",
        SchemaMismatch => "schema_mismatch",
        Unsupported => "unsupported",
        Unauthorized => "unauthorized",
        RateLimited => "rate_limited",
        Timeout => "timeout",
        Unavailable => "unavailable",
        Closed => "closed",
        Corrupt => "corrupt",
        Internal => "internal",
    }
}

/// An error: its kind, the operation that failed, and a message.
///
/// `Display` prints the operation and the message, without the [`source`](error::Error::source). Messages never contain
/// secrets or the text of memories.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    operation: &'static str,
    message: String,
    retry_after: Option<Duration>,
    source: Option<Box<dyn error::Error + Send + Sync>>,
}

impl Error {
    /// Creates an error. `operation` is the name of the call, such as `"import"`. `message` states the problem and the
    /// remedy.
    pub fn new(kind: ErrorKind, operation: &'static str, message: impl Into<String>) -> Self {
        Self { kind, operation, message: message.into(), retry_after: None, source: None }
    }

    /// Creates an error of the kind [`ErrorKind::InvalidInput`].
    pub fn invalid(operation: &'static str, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidInput, operation, message)
    }

    /// Creates the error of `enum_names` for a text that is not a name. It is a function of its own because the
    /// optimizer needs minutes for the same code inside an enum with many names.
    #[doc(hidden)]
    #[inline(never)]
    pub fn unknown_name(what: &'static str, names: &[&str]) -> Self {
        Self::invalid(what, format!("there is no such {what}; it is one of {}", names.join(", ")))
    }

    crate::setters! {
        #![must_use]
        /// Adds the error that caused this one.
        with_source(source: impl Into<Box<dyn error::Error + Send + Sync>>) => source = Some(source.into());
        /// Adds the time after which a service asks for a retry.
        with_retry_after(wait: Duration) => retry_after = Some(wait);
    }

    /// Returns the kind.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the name of the call that failed.
    pub fn operation(&self) -> &'static str {
        self.operation
    }

    /// Returns the message: the problem and the remedy.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the time after which a service asks for a retry, if it names one.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// Returns true if the same call may succeed later, so that a retry is useful.
    pub fn is_transient(&self) -> bool {
        matches!(self.kind, ErrorKind::RateLimited | ErrorKind::Timeout | ErrorKind::Unavailable)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.operation, self.message)
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        self.source.as_deref().map(|e| e as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_has_the_operation_and_not_the_source() {
        let e = Error::new(ErrorKind::Unavailable, "open", "the file is locked").with_source("secret");
        assert_eq!(e.to_string(), "open: the file is locked");
        assert!(error::Error::source(&e).is_some());
    }

    #[test]
    fn timeouts_rate_limits_and_outages_are_transient() {
        let transient = |k| Error::new(k, "x", "y").is_transient();
        assert!(
            transient(ErrorKind::Timeout) && transient(ErrorKind::RateLimited) && transient(ErrorKind::Unavailable)
        );
        assert!(!transient(ErrorKind::Corrupt) && !transient(ErrorKind::InvalidInput));
    }
}
