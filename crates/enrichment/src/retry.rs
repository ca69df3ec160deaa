//! The delays before retries of failed jobs.

use std::time::Duration;

use memory_engine_core::{Error, ErrorKind};

const MIN_RETRY_DELAY: Duration = Duration::from_millis(500);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(60);

/// Returns the delay after this many failures: 0.5 s, doubled each time, at most 60 s.
pub(crate) fn backoff(failures: u32) -> Duration {
    MIN_RETRY_DELAY.saturating_mul(2_u32.saturating_pow(failures.min(16))).min(MAX_RETRY_DELAY)
}

/// The operations whose `InvalidInput` means that a store does not accept what a job has made of a record.
const VALIDATIONS: [&str; 2] = ["record", "graph"];

/// Returns true if a job fails in the same way each time: the store does not accept its result.
pub(crate) fn is_permanent(error: &Error) -> bool {
    error.kind() == ErrorKind::InvalidInput && VALIDATIONS.contains(&error.operation())
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

#[cfg(test)]
mod tests {
    use memory_engine_core::{Kind, Record, Scope, SystemClock};

    use super::*;

    #[test]
    fn a_result_that_the_store_refuses_is_not_tried_again() {
        let mut record = Record::new(Scope::user("lin").unwrap(), Kind::TURN, "hello", &SystemClock);
        record.topic = Some("x".repeat(Record::MAX_LABEL_BYTES + 1));
        assert!(is_permanent(&record.validate().unwrap_err()));
        assert!(!is_permanent(&Error::invalid("embed", "the service did not accept the text")));
        assert!(!is_permanent(&Error::new(ErrorKind::Conflict, "record", "changed")));
    }
}
