//! The one error of the engine.

use std::{error, fmt, time::Duration};

use serde::{Deserialize, Serialize};

/// The result of every fallible call of the engine.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of an error, for code to decide on. As text and in JSON it is a name such as `invalid_input`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// The caller gave something that can never work; the message says what would be right.
    InvalidInput,
    /// The named item does not exist, or not in this scope, which looks the same.
    NotFound,
    /// It is there already, or it has changed since the caller read it.
    Conflict,
    /// A vector has another number of dimensions, or comes from another model, than the store holds.
    DimensionMismatch,
    /// The stored data were made by another schema, analyzer or embedder than the one in use.
    SchemaMismatch,
    /// This backend cannot do that.
    Unsupported,
    /// The caller's scope does not reach there, or a key was refused.
    Unauthorized,
    /// A service asked us to slow down.
    RateLimited,
    /// It took longer than it was allowed to.
    Timeout,
    /// A file or service cannot be reached now, and may be reachable later.
    Unavailable,
    /// The engine or the store was closed, so that the call did nothing. Open another one; a retry fails in the same
    /// way.
    Closed,
    /// Stored data are damaged.
    Corrupt,
    /// A bug of the engine.
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

/// An error with its kind, the operation it happened in and a message for people.
///
/// `Display` prints operation and message; it never repeats [`source`](error::Error::source), and no part of the
/// engine puts a secret or the text of a memory into a message.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    operation: &'static str,
    message: String,
    retry_after: Option<Duration>,
    source: Option<Box<dyn error::Error + Send + Sync>>,
}

impl Error {
    /// Makes an error. `operation` names the call, as in `"import"`; `message` says what was wrong and what would be
    /// right.
    pub fn new(kind: ErrorKind, operation: &'static str, message: impl Into<String>) -> Self {
        Self { kind, operation, message: message.into(), retry_after: None, source: None }
    }

    /// Shorthand for [`ErrorKind::InvalidInput`].
    pub fn invalid(operation: &'static str, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidInput, operation, message)
    }

    /// Adds the error that caused this one.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Adds how long a service asked us to wait.
    #[must_use]
    pub fn with_retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// The kind, for code to decide on.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The call in which it happened.
    pub fn operation(&self) -> &'static str {
        self.operation
    }

    /// Returns the message: what was wrong and what would be right.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the time after which a service asks for a retry, if it names one.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// Returns true if the same call may succeed later without any change, so that a retry makes sense.
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
    fn display_names_the_operation_and_leaves_the_source_out() {
        let e = Error::new(ErrorKind::Unavailable, "open", "the file is locked").with_source("secret");
        assert_eq!(e.to_string(), "open: the file is locked");
        assert!(error::Error::source(&e).is_some());
    }

    #[test]
    fn only_what_may_pass_by_itself_is_transient() {
        let transient = |k| Error::new(k, "x", "y").is_transient();
        assert!(
            transient(ErrorKind::Timeout) && transient(ErrorKind::RateLimited) && transient(ErrorKind::Unavailable)
        );
        assert!(!transient(ErrorKind::Corrupt) && !transient(ErrorKind::InvalidInput));
    }
}
