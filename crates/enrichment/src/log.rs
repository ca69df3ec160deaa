//! What the background logs.

use std::collections::BTreeSet;

#[cfg(feature = "enrichment")]
use memory_engine_core::Error;
use memory_engine_core::Pending;

/// The metadata key of the id of the request that a record came with, if the caller sets it. The background adds it to
/// everything that it logs about the record.
pub const REQUEST_ID: &str = "request_id";

/// Logs that a model failed and the rules did its work.
#[cfg(feature = "enrichment")]
pub(crate) fn log_degraded(part: &'static str, degraded: Option<&Error>) {
    if let Some(error) = degraded {
        tracing::warn!(part, kind = ?error.kind(), "the model had no part in it: {error}");
    }
}

/// Returns the ids of the requests that records came with, each once, as far as they are known.
pub(crate) fn request_ids(pending: &[Pending]) -> String {
    let id = |one: &Pending| one.record.metadata.get(REQUEST_ID)?.as_str().map(str::to_owned);
    let ids: BTreeSet<String> = pending.iter().filter_map(id).collect();
    ids.into_iter().collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use memory_engine_core::{Clock, Job, Kind, ManualClock, Record, Scope, Ticket, Timestamp};

    use super::*;

    #[test]
    fn the_log_names_each_request_that_a_batch_goes_back_to_once() {
        let clock = ManualClock::new(Timestamp::from_micros(1));
        let pending = |request: Option<&str>| {
            let mut record = Record::new(Scope::user("lin").unwrap(), Kind::TURN, "hi", &clock);
            record.metadata.extend(request.map(|id| (REQUEST_ID.to_owned(), id.into())));
            Pending { ticket: Ticket(1), record, job: Job::Facts, attempts: 0, queued_at: clock.now() }
        };
        assert_eq!(request_ids(&[Some("r-2"), None, Some("r-1"), Some("r-2")].map(pending)), "r-1,r-2");
        assert_eq!(request_ids(&[pending(None)]), "");
    }
}
