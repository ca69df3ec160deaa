//! The delays before retries of failed jobs.

use std::time::Duration;

use memory_engine_core::{Error, ErrorKind};

const MIN_RETRY_DELAY: Duration = Duration::from_millis(500);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(60);

/// Returns the delay after this many failures: 0.5 s, doubled each time, at most 60 s.
pub(crate) fn backoff(failures: u32) -> Duration {
    MIN_RETRY_DELAY.saturating_mul(2_u32.saturating_pow(failures.min(16))).min(MAX_RETRY_DELAY)
}

/// Returns true if the record is at fault, and not the service or the store behind the job.
pub(crate) fn is_record_at_fault(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::InvalidInput
        | ErrorKind::NotFound
        | ErrorKind::Conflict
        | ErrorKind::Corrupt
        | ErrorKind::Internal => true,
        ErrorKind::DimensionMismatch
        | ErrorKind::SchemaMismatch
        | ErrorKind::Unsupported
        | ErrorKind::Unauthorized
        | ErrorKind::RateLimited
        | ErrorKind::Timeout
        | ErrorKind::Closed
        | ErrorKind::Unavailable => false,
        _ => !error.is_transient(),
    }
}
