//! The reader threads.

use std::{
    collections::VecDeque,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread::JoinHandle,
};

use memory_engine_core::{Error, ErrorKind, Result};
use parking_lot::{Condvar, Mutex};
use rusqlite::Connection;
use tokio::sync::{Semaphore, mpsc};

use crate::database::{connection, file::DatabaseFile, options::SqliteOptions};

/// A job of a reader thread. It sends its own reply.
pub(crate) type ReadJob = Box<dyn FnOnce(&mut Connection) + Send>;

/// The queue of the reader threads. When it is dropped, the threads finish the queued jobs and end.
#[derive(Debug)]
pub(crate) struct ReadQueue {
    shared: Arc<SharedQueue>,
}

/// The queue and its idle threads. The thread that became idle last gets the next job, because its page cache is the
/// most recent.
struct SharedQueue {
    queue: Mutex<Queue>,
    /// One permit for each free place in the queue.
    free_places: Semaphore,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<ReadJob>,
    /// Wakes the idle threads. The one that became idle last is at the end.
    idle: Vec<Arc<Condvar>>,
    closed: bool,
}

impl ReadQueue {
    /// Creates an open queue for this many jobs.
    pub(crate) fn new(length: usize) -> Self {
        Self { shared: Arc::new(SharedQueue { queue: Mutex::default(), free_places: Semaphore::new(length) }) }
    }

    /// Queues a job, as soon as there is a free place.
    pub(crate) async fn send(&self, job: ReadJob) {
        // The semaphore is never closed.
        if let Ok(permit) = self.shared.free_places.acquire().await {
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

impl SharedQueue {
    /// Waits for the next job of a thread, which `wake` wakes. Returns `None` when the queue is closed and empty.
    fn next(&self, wake: &Arc<Condvar>) -> Option<ReadJob> {
        let mut queue = self.queue.lock();
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                self.free_places.add_permits(1);
                return Some(job);
            }
            if queue.closed {
                return None;
            }
            queue.idle.push(Arc::clone(wake));
            wake.wait(&mut queue);
        }
    }
}

impl fmt::Debug for SharedQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedQueue").field("waiting", &self.queue.lock().jobs.len()).finish_non_exhaustive()
    }
}

/// Starts the reader threads, each with a connection of its own. A thread sends the result of opening its connection to
/// `ready`. It ends when the queue is closed and empty, and then drops its `running`.
pub(crate) fn start(
    file: &DatabaseFile,
    options: &SqliteOptions,
    queue: &ReadQueue,
    running: mpsc::Sender<()>,
    ready: mpsc::Sender<Result<()>>,
) -> Result<Vec<JoinHandle<()>>> {
    (0..options.readers)
        .map(|number| {
            let file = file.clone();
            let queue = Arc::clone(&queue.shared);
            let ready = ready.clone();
            let running = running.clone();
            let options = options.clone();
            spawn(format!("memory-read-{number}"), move || {
                let opened = connection::open_reader(&file, options.busy_timeout).and_then(|connection| {
                    connection::configure(&connection, &options, 1).map_err(|failure| failure.into_error("open"))?;
                    Ok(connection)
                });
                match opened {
                    Ok(connection) => {
                        report_ready(ready, Ok(()));
                        run_jobs(connection, &queue);
                    }
                    Err(error) => report_ready(ready, Err(error)),
                }
                drop(running);
            })
        })
        .collect()
}

/// Starts a thread of the store.
pub(crate) fn spawn(name: String, body: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name).spawn(body).map_err(|error| {
        Error::new(
            ErrorKind::Unavailable,
            "open",
            "the operating system cannot start another thread; raise its limit or use fewer readers",
        )
        .with_source(error)
    })
}

/// Reports the result to the caller that opens the store. The caller may have dropped its future.
pub(crate) fn report_ready(ready: mpsc::Sender<Result<()>>, result: Result<()>) {
    let _ = ready.try_send(result);
}

/// Runs the jobs of the queue until it is closed and empty.
fn run_jobs(mut connection: Connection, queue: &SharedQueue) {
    let wake = Arc::default();
    while let Some(job) = queue.next(&wake) {
        // A panic must not end the thread. The caller of the job gets an error because its reply channel is dropped.
        let _ = catch_unwind(AssertUnwindSafe(|| job(&mut connection)));
    }
}
