//! The threads that read.

use std::{
    collections::VecDeque,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::Arc,
    thread::JoinHandle,
};

use memory_engine_core::{Error, ErrorKind, Result};
use parking_lot::{Condvar, Mutex};
use rusqlite::Connection;
use tokio::sync::{Semaphore, mpsc};

use crate::{database::connection, options::SqliteOptions};

/// A job of a reader thread. It sends its own reply.
pub(crate) type ReadJob = Box<dyn FnOnce(&mut Connection) + Send>;

/// The queue of the reader threads. When it is dropped, the threads finish the queued jobs and end.
#[derive(Debug)]
pub(crate) struct ReadQueue {
    shared: Arc<Shared>,
}

/// The thread that was busy last gets the next job: what it has read is still at hand.
struct Shared {
    queue: Mutex<Queue>,
    /// A permit for each job that may still be queued.
    room: Semaphore,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<ReadJob>,
    /// Wakes the waiting threads; the one that began to wait last is at the end.
    idle: Vec<Arc<Condvar>>,
    closed: bool,
}

impl ReadQueue {
    /// Creates an open queue for this many jobs.
    pub(crate) fn new(length: usize) -> Self {
        Self { shared: Arc::new(Shared { queue: Mutex::default(), room: Semaphore::new(length) }) }
    }

    /// Queues a job as soon as there is room.
    pub(crate) async fn send(&self, job: ReadJob) {
        // The semaphore is never closed.
        if let Ok(permit) = self.shared.room.acquire().await {
            permit.forget();
        }
        let mut queue = self.shared.queue.lock();
        queue.jobs.push_back(job);
        let reader = queue.idle.pop();
        drop(queue);
        if let Some(reader) = reader {
            reader.notify_one();
        }
    }
}

impl Drop for ReadQueue {
    fn drop(&mut self) {
        let mut queue = self.shared.queue.lock();
        queue.closed = true;
        for reader in queue.idle.drain(..) {
            reader.notify_one();
        }
    }
}

impl Shared {
    /// The next job of the thread that `awake` wakes; `None` at the end.
    fn next(&self, awake: &Arc<Condvar>) -> Option<ReadJob> {
        let mut queue = self.queue.lock();
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                self.room.add_permits(1);
                return Some(job);
            }
            if queue.closed {
                return None;
            }
            queue.idle.push(Arc::clone(awake));
            awake.wait(&mut queue);
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("waiting", &self.queue.lock().jobs.len()).finish_non_exhaustive()
    }
}

/// Starts threads that take from one queue, each with a connection of its own. A thread tells `ready` how opening it
/// went, ends when the queue is closed and empty, and lets go of `running` then.
pub(crate) fn start(
    path: &Path,
    options: &SqliteOptions,
    readings: &ReadQueue,
    running: mpsc::Sender<()>,
    ready: mpsc::Sender<Result<()>>,
) -> Result<Vec<JoinHandle<()>>> {
    (0..options.readers)
        .map(|number| {
            let (path, readings, ready) = (path.to_owned(), Arc::clone(&readings.shared), ready.clone());
            let (running, options) = (running.clone(), options.clone());
            spawn(format!("memory-read-{number}"), move || {
                let opened = connection::open_reader(&path, options.busy_timeout).and_then(|connection| {
                    connection::configure(&connection, &options, 1).map_err(|failure| failure.into_error("open"))?;
                    Ok(connection)
                });
                match opened {
                    Ok(connection) => {
                        tell(ready, Ok(()));
                        work(connection, &readings);
                    }
                    Err(error) => tell(ready, Err(error)),
                }
                drop(running);
            })
        })
        .collect()
}

/// Starts a thread of the store.
pub(crate) fn spawn(name: String, body: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name).spawn(body).map_err(|error| {
        Error::new(ErrorKind::Unavailable, "open", "the system gives no further thread").with_source(error)
    })
}

/// Reports the result to the caller that opens the store. The caller may have gone away.
pub(crate) fn tell(ready: mpsc::Sender<Result<()>>, how: Result<()>) {
    let _ = ready.try_send(how);
}

fn work(mut connection: Connection, readings: &Shared) {
    let awake = Arc::default();
    while let Some(job) = readings.next(&awake) {
        // A bug in one job must not take the thread from all others; its caller hears that there is no answer.
        let _ = catch_unwind(AssertUnwindSafe(|| job(&mut connection)));
    }
}
