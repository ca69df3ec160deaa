//! A log of the latest recalls in which a stage failed, for a view of operations.

use std::collections::VecDeque;

use memory_engine_core::{Clock, Error, ErrorKind, Scope, Timestamp, sync::Mutex};

use crate::hit::{Degraded, Recall};

/// Maximum number of logged recalls. A new one replaces the oldest.
const DEGRADED_LOG_MAX_RECALLS: usize = 200;
/// Maximum number of characters of a logged reason.
const REASON_MAX_CHARS: usize = 300;

/// A recall in which a stage failed or was late, or that failed as a whole. Contains neither the query nor memories.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DegradedRecall {
    /// The time at which the recall ended.
    pub at: Timestamp,
    /// The scope of the recall.
    pub scope: Scope,
    /// The stages that failed, with the reason of each. If the recall failed as a whole, its only stage is the
    /// operation that failed.
    pub degraded: Vec<Degraded>,
    /// Number of hits; `None` if the recall failed as a whole.
    pub hits: Option<usize>,
}

/// The latest degraded recalls of an engine, oldest first.
#[derive(Debug, Default)]
pub(crate) struct DegradedLog(Mutex<VecDeque<DegradedRecall>>);

impl DegradedLog {
    /// Returns at most `limit` recalls within `scope`, latest first.
    pub(crate) fn latest(&self, scope: &Scope, limit: usize) -> Vec<DegradedRecall> {
        let recalls = self.0.lock();
        recalls.iter().rev().filter(|recall| scope.covers(&recall.scope)).take(limit).cloned().collect()
    }

    /// Logs a recall if a stage failed, unless its query is not valid. `query` is removed from the reasons.
    pub(crate) fn note(&self, clock: &dyn Clock, scope: &Scope, query: &str, outcome: Result<&Recall, &Error>) {
        let (degraded, hits) = match outcome {
            Ok(recall) if recall.degraded.is_empty() => return,
            Ok(recall) => (recall.degraded.clone(), Some(recall.hits.len())),
            Err(error) if error.kind() == ErrorKind::InvalidInput => return,
            Err(error) => (vec![Degraded { stage: error.operation(), reason: error.to_string() }], None),
        };
        let degraded = degraded.into_iter().map(|degraded| without_query(degraded, query)).collect();
        let mut recalls = self.0.lock();
        if recalls.len() == DEGRADED_LOG_MAX_RECALLS {
            recalls.pop_front();
        }
        recalls.push_back(DegradedRecall { at: clock.now(), scope: scope.clone(), degraded, hits });
    }
}

/// Removes the query from a reason, and shortens the reason. Errors of the engine never quote it; a model or store of
/// the application may.
fn without_query(degraded: Degraded, query: &str) -> Degraded {
    let query = query.trim();
    let reason = if query.is_empty() { degraded.reason } else { degraded.reason.replace(query, "…") };
    Degraded { reason: reason.chars().take(REASON_MAX_CHARS).collect(), ..degraded }
}

#[cfg(test)]
mod tests {
    use memory_engine_core::ManualClock;

    use super::*;

    #[test]
    fn the_log_is_bounded_and_quotes_no_query() {
        let log = DegradedLog::default();
        let clock = ManualClock::new(Timestamp::from_micros(7));
        let lin = Scope::user("lin").unwrap();
        for number in 0..DEGRADED_LOG_MAX_RECALLS + 3 {
            let error =
                Error::new(ErrorKind::Unavailable, "embed", format!("number {number}: cannot read 面试 是哪天"));
            log.note(&clock, &lin, " 面试 是哪天 ", Err(&error));
        }
        let recalls = log.0.lock();
        assert_eq!(recalls.len(), DEGRADED_LOG_MAX_RECALLS);
        assert_eq!(recalls[0].degraded[0].reason, "embed: number 3: cannot read …");
        assert_eq!((recalls[0].hits, recalls[0].degraded[0].stage), (None, "embed"));
    }
}
