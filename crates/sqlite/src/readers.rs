//! The threads that read.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::Arc,
    thread::JoinHandle,
};

use memory_core::{Error, ErrorKind, Result};
use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::sync::mpsc;

use crate::{connection, options::SqliteOptions};

/// What a thread does with its connection; it sends its answer itself.
pub(crate) type Reading = Box<dyn FnOnce(&mut Connection) + Send>;

/// Starts threads that take from one queue, each with a connection of its own. A thread tells `ready` how opening it
/// went, ends when the queue is closed and empty, and lets go of `running` then.
pub(crate) fn start(
    path: &Path,
    options: &SqliteOptions,
    queue: mpsc::Receiver<Reading>,
    running: mpsc::Sender<()>,
    ready: mpsc::Sender<Result<()>>,
) -> Result<Vec<JoinHandle<()>>> {
    let queue = Arc::new(Mutex::new(queue));
    let (busy_timeout, part) = (options.busy_timeout, options.cache_part());
    (0..options.readers.max(1))
        .map(|number| {
            let (path, queue, ready) = (path.to_owned(), Arc::clone(&queue), ready.clone());
            let running = running.clone();
            spawn(format!("memory-read-{number}"), move || {
                let opened = connection::open_reader(&path, busy_timeout).and_then(|connection| {
                    connection::keep(&connection, part).map_err(|failure| failure.into_error("open"))?;
                    Ok(connection)
                });
                match opened {
                    Ok(connection) => {
                        tell(ready, Ok(()));
                        work(connection, &queue);
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

/// Reports to whoever opens the store; that they have gone away since does not matter.
pub(crate) fn tell(ready: mpsc::Sender<Result<()>>, how: Result<()>) {
    let _ = ready.try_send(how);
}

fn work(mut connection: Connection, queue: &Mutex<mpsc::Receiver<Reading>>) {
    loop {
        // Whoever holds the lock waits for the next job; the others wait for the lock.
        let Some(job) = queue.lock().blocking_recv() else { break };
        // A bug in one job must not take the thread from all others; its caller hears that there is no answer.
        let _ = catch_unwind(AssertUnwindSafe(|| job(&mut connection)));
    }
}
