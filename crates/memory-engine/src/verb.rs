//! The span and the metrics of a verb: a public method of the engine, as in `docs/reference/metrics.md`.

/// Runs the work of a verb in the span `memory_engine.NAME`, with the fields of its scope, if it has one, and its own
/// fields. `note` records the fields that depend on the result. `docs/reference/metrics.md` lists all spans and fields.
macro_rules! verb {
    ($name:literal, $scope:expr, { $($fields:tt)* }, $work:expr) => {
        $crate::verb::verb!($name, $scope, { $($fields)* }, $work, |_, _| ())
    };
    ($name:literal, $scope:expr, { $($fields:tt)* }, $work:expr, $note:expr) => {{
        let span = memory_engine_core::operation_span!(
            DEBUG, concat!("memory_engine.", $name), scope: $scope, $($fields)*
        );
        $crate::verb::run($name, &span, $work, $note).await
    }};
    ($name:literal, { $($fields:tt)* }, $work:expr) => {{
        let span = memory_engine_core::operation_span!(DEBUG, concat!("memory_engine.", $name), $($fields)*);
        $crate::verb::run($name, &span, $work, |_, _| ()).await
    }};
}
pub(crate) use verb;

use memory_engine_core::{
    Result,
    observe::{Operation, observe},
};
use tracing::Span;

/// Runs the work of a verb in its span. If it succeeds, calls `note` with the span and the value.
///
/// # Errors
/// Those of the work.
pub(crate) fn run<T>(
    name: &'static str,
    span: &Span,
    work: impl Future<Output = Result<T>>,
    note: impl FnOnce(&Span, &T),
) -> impl Future<Output = Result<T>> {
    let observed = observe(span, Operation::Verb(name), work);
    async move {
        let result = observed.await?;
        note(span, &result);
        Ok(result)
    }
}
