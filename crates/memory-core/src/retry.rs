//! Repeating an operation after another writer changed its records.

use std::{future::poll_fn, task::Poll};

use crate::error::{ErrorKind, Result};

/// Maximum number of attempts of an operation that only reads and writes records. Each time that an attempt fails with
/// `Conflict`, another writer has succeeded, so that this many can write one record at the same time.
pub const WRITE_ATTEMPTS: usize = 64;
/// Maximum number of attempts of an operation that calls a model in each attempt.
pub const MODEL_ATTEMPTS: usize = 6;

/// Makes at most `max_attempts` attempts of an operation, and at least one, as long as they fail with `Conflict`. Each
/// attempt reads the records again.
///
/// # Errors
/// Any other error of an attempt; `Conflict` of the last one.
pub async fn retry_on_conflict<T, F: Future<Output = Result<T>>>(
    max_attempts: usize,
    attempt: impl FnMut() -> F,
) -> Result<T> {
    retry_on(&[ErrorKind::Conflict], max_attempts, attempt).await
}

/// As [`retry_on_conflict`], for errors of any of these kinds. An update of a record that was deleted meanwhile fails
/// with `NotFound`.
///
/// # Errors
/// Any other error of an attempt; the error of the last one.
pub async fn retry_on<T, F: Future<Output = Result<T>>>(
    kinds: &[ErrorKind],
    max_attempts: usize,
    mut attempt: impl FnMut() -> F,
) -> Result<T> {
    for _ in 1..max_attempts {
        match attempt().await {
            // The other writer may need this thread to finish.
            Err(error) if kinds.contains(&error.kind()) => yield_now().await,
            outcome => return outcome,
        }
    }
    attempt().await
}

/// Lets the other tasks of the thread run. The contracts do not depend on tokio, which has such a function.
async fn yield_now() {
    let mut has_yielded = false;
    poll_fn(|context| {
        if has_yielded {
            return Poll::Ready(());
        }
        has_yielded = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[cfg(test)]
mod tests {
    use std::{
        cell::Cell,
        task::{Context, Waker},
    };

    use super::*;
    use crate::error::Error;

    /// Runs a future that never waits for anything outside of it.
    fn block_on<T>(future: impl Future<Output = T>) -> T {
        let mut future = std::pin::pin!(future);
        loop {
            if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                return value;
            }
        }
    }

    #[test]
    fn only_conflicts_are_repeated_and_the_last_one_is_returned() {
        let attempts = |kind: ErrorKind, failures: usize| {
            let count = Cell::new(0);
            let outcome = block_on(retry_on_conflict(4, || async {
                count.set(count.get() + 1);
                if count.get() > failures { Ok(()) } else { Err(Error::new(kind, "put", "changed")) }
            }));
            (count.get(), outcome.map_err(|error| error.kind()))
        };
        assert_eq!(attempts(ErrorKind::Conflict, 3), (4, Ok(())));
        assert_eq!(attempts(ErrorKind::Conflict, 4), (4, Err(ErrorKind::Conflict)));
        assert_eq!(attempts(ErrorKind::NotFound, 1), (1, Err(ErrorKind::NotFound)));
    }
}
