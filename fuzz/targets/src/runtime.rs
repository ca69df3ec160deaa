//! The runtime of targets that call asynchronous code.

use tokio::runtime::{Builder, Runtime};

thread_local! {
    static RUNTIME: Runtime = Builder::new_current_thread().enable_all().build().unwrap();
}

/// Runs a future to its end. Tasks that it spawns continue during the next call.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    RUNTIME.with(|runtime| runtime.block_on(future))
}
