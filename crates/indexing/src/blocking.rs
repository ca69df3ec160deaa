//! Access to the async runtime, and to threads that may block.

use memory_engine_core::{Error, ErrorKind, Result};
use tokio::runtime::Handle;

/// Returns the tokio runtime of the caller.
///
/// # Errors
/// `Unsupported` outside of a tokio runtime.
pub fn current_runtime(operation: &'static str) -> Result<Handle> {
    Handle::try_current().map_err(|_| {
        let message = "call it within a tokio runtime; programs without one use the module `blocking`";
        Error::new(ErrorKind::Unsupported, operation, message)
    })
}

/// Runs `work` on a thread that may block.
///
/// # Errors
/// `Unsupported` outside of a tokio runtime; `Internal` if the thread stops without a result.
pub async fn run_blocking<T: Send + 'static>(
    operation: &'static str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    let runtime = current_runtime(operation)?;
    let failed = |e| Error::new(ErrorKind::Internal, operation, "the background thread stopped").with_source(e);
    runtime.spawn_blocking(work).await.map_err(failed)
}
