//! Work that would block the async runtime.

use memory_engine_core::{Error, ErrorKind, Result};

/// Runs `work` on a thread that may block.
///
/// # Errors
/// `Internal` if the thread stops without a result.
pub async fn run_blocking<T: Send + 'static>(
    operation: &'static str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    let failed = |e| Error::new(ErrorKind::Internal, operation, "the background thread stopped").with_source(e);
    tokio::task::spawn_blocking(work).await.map_err(failed)
}
