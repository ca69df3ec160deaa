//! The log of the background worker.

use std::collections::BTreeSet;

use memory_engine_core::{Error, Pending};

/// The metadata key of the id of the request that wrote a record, set by the caller. The background adds it to
/// everything that it logs about the record, if it has at most 64 bytes of ASCII letters, digits, `-`, `_`, `.` and
/// `:`.
pub const REQUEST_ID: &str = "request_id";
/// Maximum length of a request id that is logged.
const MAX_REQUEST_ID_BYTES: usize = 64;

/// Logs that a model failed and the rules did its work.
#[cfg(feature = "enrichment")]
pub(crate) fn log_degraded(part: &'static str, degraded: Option<&Error>) {
    if let Some(error) = degraded {
        log_error(part, "the model failed; the rules did its work", error);
    }
}

/// Logs that a part failed, without the message of the error: it may come from a service and quote stored text.
pub(crate) fn log_error(part: &'static str, consequence: &'static str, error: &Error) {
    let operation = error.operation();
    tracing::warn!(part, "error.type" = error.kind().as_str(), operation, "{consequence}");
}

/// Returns the ids of the requests that wrote these records, each once, separated by commas.
pub(crate) fn request_ids(pending: &[Pending]) -> String {
    let id = |item: &Pending| {
        let id = item.record.metadata.get(REQUEST_ID)?.as_str()?;
        is_request_id(id).then(|| id.to_owned())
    };
    let ids: BTreeSet<String> = pending.iter().filter_map(id).collect();
    ids.into_iter().collect::<Vec<_>>().join(",")
}

/// Returns true for a value that looks like an id, and not like text.
fn is_request_id(value: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    value.len() <= MAX_REQUEST_ID_BYTES && value.chars().all(is_allowed)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use memory_engine_core::{Clock, Job, Kind, ManualClock, Record, Scope, Ticket, Timestamp};

    use super::*;

    #[test]
    fn request_ids_of_a_batch_are_listed_once() {
        let clock = ManualClock::new(Timestamp::from_micros(1));
        let pending = |request: Option<&str>| {
            let mut record = Record::new(Scope::user("lin").unwrap(), Kind::TURN, "hi", &clock);
            record.metadata.extend(request.map(|id| (REQUEST_ID.to_owned(), id.into())));
            Pending { ticket: Ticket(1), record, job: Job::Facts, attempts: 0, queued_at: clock.now() }
        };
        assert_eq!(request_ids(&[Some("r-2"), None, Some("r-1"), Some("r-2")].map(pending)), "r-1,r-2");
        assert_eq!(request_ids(&[pending(None)]), "");
        assert_eq!(request_ids(&[pending(Some("a sentence of the user"))]), "", "only what looks like an id is logged");
    }
}
