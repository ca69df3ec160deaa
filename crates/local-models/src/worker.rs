//! A thread of its own for inference: whoever awaits an answer keeps their thread.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc,
};

use futures::channel::oneshot;
use memory_engine_core::{Error, ErrorKind, Result};

type Job = Box<dyn FnOnce() + Send>;

/// A thread that does one job after the other, and ends when the worker is dropped.
#[derive(Debug)]
pub(crate) struct Worker(mpsc::Sender<Job>);

impl Worker {
    /// Starts the thread. It sleeps while there is nothing to do.
    ///
    /// # Errors
    /// `Unavailable` when the system gives no further thread.
    pub(crate) fn start(name: &str) -> Result<Self> {
        let (queue, jobs) = mpsc::channel::<Job>();
        // A bug in one job must not take the thread from all others; its caller hears that there is no answer.
        let work = move || {
            for job in jobs {
                let _ = catch_unwind(AssertUnwindSafe(job));
            }
        };
        let started = std::thread::Builder::new().name(name.to_owned()).spawn(work);
        let failed =
            |e| Error::new(ErrorKind::Unavailable, "local model", "the system gives no further thread").with_source(e);
        started.map(|_| Self(queue)).map_err(failed)
    }

    /// Does a job on the thread. Dropping the future lets a job that has begun finish unseen.
    pub(crate) async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        let job = move || {
            if !reply.is_canceled() {
                // Whoever asked may have gone away meanwhile.
                let _ = reply.send(work());
            }
        };
        let gone = || Error::new(ErrorKind::Internal, "local model", "the inference was given up half-way");
        self.0.send(Box::new(job)).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())
    }
}
