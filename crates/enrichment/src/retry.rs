//! The delays before retries of failed jobs.

use std::time::Duration;

use memory_engine_core::{Error, ErrorKind};

const MIN_RETRY_DELAY: Duration = Duration::from_millis(500);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(60);

/// Returns the delay after this many failures: 0.5 s, doubled each time, at most 60 s.
pub(crate) fn backoff(failures: u32) -> Duration {
    MIN_RETRY_DELAY.saturating_mul(2_u32.saturating_pow(failures.min(16))).min(MAX_RETRY_DELAY)
}

/// The cause of a failed job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The record: the job or its service refuses it.
    Record,
    /// The record or the service: the service gave an answer that cannot be used, as a proxy in front of it does during
    /// an outage.
    Unclear,
    /// The service or the store behind the job.
    Service,
}

/// Returns the cause of a failed job as far as the error tells it.
pub(crate) fn fault(error: &Error) -> Fault {
    match error.kind() {
        ErrorKind::InvalidInput | ErrorKind::Conflict | ErrorKind::Internal => Fault::Record,
        ErrorKind::NotFound | ErrorKind::Corrupt => Fault::Unclear,
        ErrorKind::DimensionMismatch
        | ErrorKind::SchemaMismatch
        | ErrorKind::Unsupported
        | ErrorKind::Unauthorized
        | ErrorKind::RateLimited
        | ErrorKind::Timeout
        | ErrorKind::Closed
        | ErrorKind::Unavailable => Fault::Service,
        _ if error.is_transient() => Fault::Service,
        _ => Fault::Unclear,
    }
}
