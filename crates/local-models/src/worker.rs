//! A thread for inference, so that async callers do not block theirs.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc,
};

use futures::channel::oneshot;
use memory_engine_core::{Error, ErrorKind, Result};

type InferenceJob = Box<dyn FnOnce() + Send>;

/// A thread that runs jobs in order and ends when the worker is dropped.
#[derive(Debug)]
pub(crate) struct InferenceThread(mpsc::Sender<InferenceJob>);

impl InferenceThread {
    /// Starts the thread. It sleeps while the queue is empty.
    ///
    /// # Errors
    /// `Unavailable` if the system cannot start a thread.
    pub(crate) fn start(name: &str) -> Result<Self> {
        let (queue, jobs) = mpsc::channel::<InferenceJob>();
        // A panic in one job must not end the thread; the caller of that job gets an error.
        let run_jobs = move || {
            for job in jobs {
                let _ = catch_unwind(AssertUnwindSafe(job));
            }
        };
        let started = std::thread::Builder::new().name(name.to_owned()).spawn(run_jobs);
        let failed = |e| {
            Error::new(ErrorKind::Unavailable, "local model", "the inference thread cannot be started").with_source(e)
        };
        started.map(|_| Self(queue)).map_err(failed)
    }

    /// Runs a job on the thread. If the future is dropped, a started job still runs to its end.
    pub(crate) async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        let (sender, receiver) = oneshot::channel();
        let job = move || {
            if !sender.is_canceled() {
                // The caller may have dropped the future meanwhile.
                let _ = sender.send(work());
            }
        };
        let ended = || Error::new(ErrorKind::Internal, "local model", "the inference panicked");
        self.0.send(Box::new(job)).map_err(|_| ended())?;
        receiver.await.map_err(|_| ended())
    }
}
