//! Spans and metrics of the engine's operations, shared by all of its crates. `docs/reference/metrics.md` lists them.
//!
//! No field of a span, and no label of a metric, holds text, metadata, or names or ids of users.

use std::{
    fmt,
    hash::{BuildHasher, RandomState},
    sync::LazyLock,
    time::{Duration, Instant},
};

#[doc(hidden)]
pub use tracing;
use tracing::{Instrument, Span};

use crate::{
    error::{Error, ErrorKind, Result},
    meters,
    scope::Scope,
};

pub use crate::meters::Operation;
#[cfg(feature = "metrics")]
pub use crate::meters::{METRICS, MetricDescription, MetricKind, describe_metrics};

/// Makes the span of an operation: its level, its name, and its own fields. [`observe`] records the common fields
/// `outcome`, `error.type`, `duration_ms` and `otel.status_code` when the operation ends. With `scope:`, the fields
/// `scope.depth` and `scope.id` come first. The fields are not evaluated if nothing listens to the span.
///
/// ```
/// use memory_engine_core::{Scope, observe::{Operation, observe}, operation_span};
///
/// let lin = Scope::user("lin")?;
/// let span = operation_span!(DEBUG, "memory_engine.forget", scope: &lin, records = tracing::field::Empty);
/// let forget = async { Ok(3_u64) };
/// let call = async {
///     let removed = observe(&span, Operation::Verb("forget"), forget).await?;
///     span.record("records", removed);
///     Ok::<(), memory_engine_core::Error>(())
/// };
/// # drop(call);
/// # Ok::<(), memory_engine_core::Error>(())
/// ```
#[macro_export]
macro_rules! operation_span {
    ($level:ident, $name:expr, scope: $scope:expr $(, $($fields:tt)*)?) => {
        $crate::operation_span!(
            $level,
            $name,
            "scope.depth" = $crate::observe::depth($scope),
            "scope.id" = %$crate::observe::pseudonym($scope),
            $($($fields)*)?
        )
    };
    ($level:ident, $name:expr $(, $($fields:tt)*)?) => {
        $crate::observe::tracing::span!(
            $crate::observe::tracing::Level::$level,
            $name,
            outcome = $crate::observe::tracing::field::Empty,
            "error.type" = $crate::observe::tracing::field::Empty,
            duration_ms = $crate::observe::tracing::field::Empty,
            "otel.status_code" = $crate::observe::tracing::field::Empty,
            $($($fields)*)?
        )
    };
}

/// Runs an operation in its span, and records its outcome, the kind of its error and its duration there and in the
/// metrics. An operation whose future is dropped before its end has the outcome `cancelled`.
///
/// # Errors
/// Those of the operation.
pub fn observe<T>(
    span: &Span,
    operation: Operation,
    work: impl Future<Output = Result<T>>,
) -> impl Future<Output = Result<T>> {
    observe_as(span, operation, Error::kind, work)
}

/// As [`observe`], for an operation with an error of its own.
///
/// # Errors
/// Those of the operation.
pub fn observe_as<T, E>(
    span: &Span,
    operation: Operation,
    kind: impl FnOnce(&E) -> ErrorKind,
    work: impl Future<Output = Result<T, E>>,
) -> impl Future<Output = Result<T, E>> {
    // In a box before the first await: a future that awaits one of its arguments holds it twice, and these are nested.
    let work = Box::pin(work.instrument(span.clone()));
    async move {
        let mut ending = Ending::new(span, operation);
        let outcome = work.await;
        ending.finish(outcome.as_ref().err().map(kind));
        outcome
    }
}

/// As [`observe`], for an operation that blocks its thread.
///
/// # Errors
/// Those of the operation.
pub fn observe_blocking<T, E>(
    span: &Span,
    operation: Operation,
    kind: impl FnOnce(&E) -> ErrorKind,
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let mut ending = Ending::new(span, operation);
    let outcome = span.in_scope(work);
    ending.finish(outcome.as_ref().err().map(kind));
    outcome
}

/// Returns the narrowest dimension that a scope sets: `tenant`, `user`, `agent`, `session` or `branch`.
pub fn depth(scope: &Scope) -> &'static str {
    scope.dimensions().into_iter().rev().find(|(_, name)| name.is_some()).map_or("tenant", |(dimension, _)| dimension)
}

/// Returns a pseudonym of a scope: 16 hexadecimal digits, the same for the same scope within one process.
///
/// The hash has a random key that the process creates at its start and never shows. Without the key, a scope cannot
/// be found by hashing names, and pseudonyms of two processes cannot be compared.
pub fn pseudonym(scope: &Scope) -> impl fmt::Display + use<> {
    static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    Hexadecimal(KEY.hash_one(scope))
}

/// Counts a recall: its number of hits, and the stages that did not take part. Does nothing without the feature
/// `metrics`.
pub fn count_recall(hits: usize, degraded: impl IntoIterator<Item = &'static str>) {
    meters::recall(hits, degraded);
}

/// Counts items of a job that are done, each with the time from the write that queued it until now. Does nothing
/// without the feature `metrics`.
pub fn count_done(job: &'static str, items: usize, latencies: impl IntoIterator<Item = Duration>) {
    meters::items_done(job, items, latencies);
}

/// Counts an item of a job that failed; `is_final` if it is not tried again. Does nothing without the feature
/// `metrics`.
pub fn count_failed(job: &'static str, is_final: bool) {
    meters::item_failed(job, is_final);
}

/// Counts jobs that a write queued. Does nothing without the feature `metrics`.
pub fn count_queued(jobs: impl IntoIterator<Item = &'static str>) {
    meters::items_queued(jobs);
}

/// Counts findings of the screening in records that were to be stored. Does nothing without the feature `metrics`.
pub fn count_screened(category: &'static str, action: &'static str, count: u64) {
    meters::screened(category, action, count);
}

/// Counts the load of an index into memory; `source` is `file` for an index cache and `rows` for the database. Does
/// nothing without the feature `metrics`.
pub fn count_index_load(index: &'static str, source: &'static str, took: Duration) {
    meters::index_load(index, source, took);
}

/// Counts a request to a model that is sent again. Does nothing without the feature `metrics`.
pub fn count_retry(operation: &'static str) {
    meters::retry(operation);
}

struct Hexadecimal(u64);

impl fmt::Display for Hexadecimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The end of an operation. Dropped before [`finish`](Self::finish), it records that the operation was cancelled.
struct Ending<'s> {
    span: &'s Span,
    operation: Operation,
    /// `None` if the duration is not measured.
    started: Option<Instant>,
    is_finished: bool,
}

impl<'s> Ending<'s> {
    fn new(span: &'s Span, operation: Operation) -> Self {
        let is_timed = meters::ARE_ON || !span.is_disabled();
        Self { span, operation, started: is_timed.then(Instant::now), is_finished: false }
    }

    fn finish(&mut self, error: Option<ErrorKind>) {
        self.is_finished = true;
        match error {
            None => self.record("ok", None),
            Some(kind) => self.record("error", Some(kind.as_str())),
        }
    }

    fn record(&self, outcome: &'static str, error: Option<&'static str>) {
        let Some(started) = self.started else { return };
        let took = started.elapsed();
        meters::operation(self.operation, outcome, error.unwrap_or("none"), took);
        if self.span.is_disabled() {
            return;
        }
        self.span.record("outcome", outcome);
        self.span.record("duration_ms", took.as_secs_f64() * 1000.0);
        if let Some(error) = error {
            self.span.record("error.type", error);
            self.span.record("otel.status_code", "ERROR");
        }
    }
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        if !self.is_finished {
            self.record("cancelled", None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pseudonym_is_stable_and_shows_no_name() {
        let lin = Scope::user("lin").unwrap();
        assert_eq!(pseudonym(&lin).to_string(), pseudonym(&lin.clone()).to_string());
        assert_ne!(pseudonym(&lin).to_string(), pseudonym(&Scope::user("mo").unwrap()).to_string());
        assert_eq!(pseudonym(&lin).to_string().len(), 16);
    }

    #[test]
    fn the_depth_is_the_narrowest_dimension() {
        let lin = Scope::user("lin").unwrap();
        assert_eq!(depth(&Scope::tenant_wide("a").unwrap()), "tenant");
        assert_eq!(depth(&lin), "user");
        assert_eq!(depth(&lin.with_session("s").unwrap()), "session");
    }
}
