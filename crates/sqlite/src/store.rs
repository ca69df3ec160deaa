//! The store and its threads.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
};

use memory_engine_core::{
    Clock, EmbeddingSpace, Error, ErrorKind, Result,
    observe::{Operation, observe, tracing::Span},
    operation_span,
};
use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use crate::{
    cache::index_caches::IndexCaches,
    cache::vectors::VectorIndex,
    cache::writer::CacheWriter,
    database::connection,
    database::error::SqliteError,
    database::readers::{self, ReadJob, ReadQueue},
    database::writer::{self, Residue, WriteJob, WriteOutcome},
    database::{index_metadata, schema},
    options::SqliteOptions,
    queue::lease_owner::LeaseOwner,
    reconcile::reconcile,
};
use memory_engine_sql::{index_metadata::IndexMetadata, options::StoreOptions};

/// Every store of memory-engine over one SQLite file: [`RecordStore`](memory_engine_core::RecordStore),
/// [`KeywordStore`](memory_engine_keyword_store::KeywordStore),
/// [`VectorStore`](memory_engine_vector_store::VectorStore), [`GraphStore`](memory_engine_graph::GraphStore) and
/// [`SynonymStore`](memory_engine_synonyms::SynonymStore).
///
/// One thread writes and a few read; no call blocks the runtime that awaits it. Several stores, also of several
/// processes, can have one file open: each sees what the others have written. What was acknowledged is on the disk.
///
/// Dropping the store finishes what is queued, closes the file and waits for that; [`close`](Self::close) does the
/// same without blocking. A handle in another space (see
/// [`GenerationStore`](memory_engine_vector_store::GenerationStore)) is the same store: the last one closes it.
pub struct SqliteStore {
    space: EmbeddingSpace,
    origin: IndexMetadata,
    caches: IndexCaches,
    file: Arc<File>,
}

/// An open file with its threads.
struct File {
    path: PathBuf,
    clock: Arc<dyn Clock>,
    lease_owner: Arc<LeaseOwner>,
    /// True while a requested cache flush is pending.
    flush_pending: Arc<AtomicBool>,
    queues: Mutex<Option<Queues>>,
    threads: Mutex<Threads>,
}

#[derive(Clone)]
struct Queues {
    write: mpsc::Sender<WriteJob>,
    read: Arc<ReadQueue>,
}

/// The threads; a queue that nothing is sent through any more tells when they have ended.
struct Threads {
    handles: Vec<JoinHandle<()>>,
    ended: Option<mpsc::Receiver<()>>,
}

impl SqliteStore {
    /// Opens the file, or makes it, and brings it to the schema of this version.
    ///
    /// # Errors
    /// `NotFound` for a missing directory; `Unauthorized` for a file or directory that is read-only; `InvalidInput` for
    /// a file that is no SQLite database or belongs to another application; `SchemaMismatch` for one that a newer
    /// version made, or another analyzer or embedder (see [`Mismatch`](crate::Mismatch)); `Unavailable` when another
    /// process does not let go of it in time; `Corrupt` when it is damaged.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the file as it was, or opened and closed again.
    pub async fn open(path: impl AsRef<Path>, store: StoreOptions) -> Result<Self> {
        Self::open_with(path, store, SqliteOptions::default()).await
    }

    /// Opens the file as [`open`](Self::open) does, with these settings.
    ///
    /// # Errors
    /// As [`open`](Self::open), and `InvalidInput` for a setting out of its range.
    ///
    /// # Cancel safety
    /// As [`open`](Self::open).
    pub async fn open_with(path: impl AsRef<Path>, store: StoreOptions, options: SqliteOptions) -> Result<Self> {
        let span =
            operation_span!(INFO, "memory_engine.store.open", "db.system.name" = "sqlite", schema = schema::SCHEMA);
        observe(&span, Operation::Unmeasured, Self::open_file(path.as_ref(), store, options)).await
    }

    async fn open_file(path: &Path, store: StoreOptions, options: SqliteOptions) -> Result<Self> {
        options.validate()?;
        let path = std::path::absolute(path).map_err(|error| {
            Error::invalid("open", "the path is empty or cannot be made absolute").with_source(error)
        })?;
        let origin = IndexMetadata::new(&store);
        let (write, writes) = mpsc::channel(options.queue_length);
        let read = Arc::new(ReadQueue::new(options.queue_length));
        let (reading, readers_ended) = mpsc::channel(1);
        let (writing, ended) = mpsc::channel(1);
        let mut threads = Threads { handles: Vec::new(), ended: Some(ended) };
        let (ready, mut readiness) = mpsc::channel(1);
        let caches = IndexCaches::new(&path, store.space.clone());
        let opening_span = Span::current();
        let lease_owner = Arc::new(LeaseOwner::new(&path));
        let (store_options, settings) = (store.clone(), options.clone());
        let opening = (path.clone(), origin.clone(), caches.clone(), Arc::clone(&lease_owner));
        threads.handles.push(readers::spawn("memory-write".into(), move || {
            let (path, origin, caches, lease_owner) = opening;
            let opened = opening_span.in_scope(|| open_writer(&path, &store_options, &settings, &origin));
            // The thread outlives the span.
            drop(opening_span);
            match opened {
                Ok(connection) => {
                    readers::tell(ready, Ok(()));
                    let cache_writer = CacheWriter::new(caches, origin);
                    let on_close = |connection: &Connection| lease_owner.retire(connection);
                    writer::work(
                        connection,
                        &path,
                        writes,
                        readers_ended,
                        options.busy_timeout,
                        cache_writer,
                        on_close,
                    );
                }
                Err(error) => readers::tell(ready, Err(error)),
            }
            drop(writing);
        })?);
        first_failure(&mut readiness).await?;
        let count = options.readers;
        let (ready, mut readiness) = mpsc::channel(count);
        threads.handles.extend(readers::start(&path, &options, &read, reading, ready)?);
        first_failure(&mut readiness).await?;
        let file = File {
            path,
            clock: store.clock,
            lease_owner,
            flush_pending: Arc::default(),
            queues: Mutex::new(Some(Queues { write, read })),
            threads: Mutex::new(threads),
        };
        Ok(Self { space: store.space, origin, caches, file: Arc::new(file) })
    }

    /// Another handle on the same file, in another space.
    pub(crate) fn in_space(&self, space: EmbeddingSpace) -> Self {
        let vectors = Arc::new(VectorIndex::new(space.clone(), None));
        let caches = IndexCaches { vectors, ..self.caches.clone() };
        Self { origin: self.origin.in_space(&space), space, caches, file: Arc::clone(&self.file) }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.file.path
    }

    /// Finishes what is queued and closes the file. Calls that come later fail with `Closed`.
    ///
    /// # Cancel safety
    /// Dropping the future lets the threads finish by themselves.
    pub async fn close(&self) {
        drop(self.file.queues.lock().take());
        let ended = self.file.threads.lock().ended.take();
        if let Some(mut ended) = ended {
            // Nothing is ever sent: this returns when the writer, the last to end, lets go of the other end.
            let _ = ended.recv().await;
        }
        self.file.join();
    }

    pub(crate) fn embedding_space(&self) -> &EmbeddingSpace {
        &self.space
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.file.clock
    }

    pub(crate) fn lease_owner(&self) -> Arc<LeaseOwner> {
        Arc::clone(&self.file.lease_owner)
    }

    pub(crate) fn origin(&self) -> IndexMetadata {
        self.origin.clone()
    }

    pub(crate) fn caches(&self) -> IndexCaches {
        self.caches.clone()
    }

    /// Asks the writer thread to flush index caches that lag, after pending writes. Does not block.
    pub(crate) fn request_cache_flush(&self) {
        if !self.caches.needs_flush() || self.file.flush_pending.swap(true, Ordering::AcqRel) {
            return;
        }
        let flush_pending = Arc::clone(&self.file.flush_pending);
        // An empty write: the writer thread flushes caches after every batch.
        let job: WriteJob = Box::new(move |_| {
            flush_pending.store(false, Ordering::Release);
            WriteOutcome { failed: false, residue: Residue::None, tell: Box::new(|_| {}) }
        });
        let queued = self.queues("flush caches").is_ok_and(|queues| queues.write.try_send(job).is_ok());
        if !queued {
            self.file.flush_pending.store(false, Ordering::Release);
        }
    }

    fn queues(&self, operation: &'static str) -> Result<Queues> {
        self.file.queues.lock().clone().ok_or_else(|| closed(operation))
    }

    /// Runs `body` in a transaction that sees one state of the file.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        operation: &'static str,
        body: impl FnOnce(&Connection) -> Result<T, SqliteError> + Send + 'static,
    ) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        let caller_span = Span::current();
        let job: ReadJob = Box::new(move |connection| {
            let _entered = caller_span.enter();
            let run = || {
                let transaction = connection.transaction()?;
                let found = body(&transaction)?;
                transaction.finish()?;
                Ok(found)
            };
            // The caller may have gone away.
            let _ = reply.send(run().map_err(|failure: SqliteError| failure.into_error(operation)));
        });
        self.queues(operation)?.read.send(job).await;
        answer.await.map_err(|_| lost(operation))?
    }

    /// Runs `body` in a transaction of its own, which is undone when it fails, and waits until it is on the disk.
    /// `residue` says what the write leaves in the log.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        operation: &'static str,
        residue: fn(&T) -> Residue,
        body: impl FnOnce(&Connection) -> Result<T, SqliteError> + Send + 'static,
    ) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        let job: WriteJob = Box::new(move |connection| {
            let run = |connection| body(connection).map_err(|failure| failure.into_error(operation));
            let outcome = connection.map_err(|failed| failed.error(operation)).and_then(run);
            WriteOutcome {
                failed: outcome.is_err(),
                residue: outcome.as_ref().map_or(Residue::None, residue),
                tell: Box::new(move |failed| {
                    let outcome = outcome.and_then(|value| match failed {
                        None => Ok(value),
                        Some(commit) => Err(commit.error(operation)),
                    });
                    // The caller may have gone away.
                    let _ = reply.send(outcome);
                }),
            }
        });
        self.queues(operation)?.write.send(job).await.map_err(|_| closed(operation))?;
        answer.await.map_err(|_| lost(operation))?
    }
}

impl File {
    fn join(&self) {
        let handles = std::mem::take(&mut self.threads.lock().handles);
        for handle in handles {
            // A thread that ended badly has nothing more to say.
            let _ = handle.join();
        }
    }
}

impl Drop for File {
    fn drop(&mut self) {
        drop(self.queues.lock().take());
        self.join();
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.file.path).field("space", &self.space).finish_non_exhaustive()
    }
}

/// Opens the file for writing, at the schema of this version and with indexes that fit.
fn open_writer(
    path: &Path,
    store: &StoreOptions,
    options: &SqliteOptions,
    origin: &IndexMetadata,
) -> Result<Connection> {
    connection::check_path(path)?;
    let mut connection =
        connection::open_writer(path, options.busy_timeout, connection::page_size(store.space.dimensions))?;
    connection::configure(&connection, options, 2).map_err(|failure| failure.into_error("open"))?;
    // Usually there is nothing to write, so a reader need not wait for another writer. All checks read one snapshot,
    // since another process may be creating the file at this moment.
    let settled = |connection: &mut Connection| {
        let transaction = connection.transaction()?;
        Ok(schema::recognise(&transaction, path)? == schema::SCHEMA && index_metadata::fits(&transaction, origin)?)
    };
    if settled(&mut connection).map_err(|failure: SqliteError| failure.into_error("open"))? {
        return Ok(connection);
    }
    schema::in_transaction(&mut connection, |transaction| {
        schema::up(transaction, path)?;
        reconcile(transaction, origin, store.mismatch, store.clock.now())
    })
    .map_err(|failure| failure.into_error("open"))?;
    Ok(connection)
}

async fn first_failure(readiness: &mut mpsc::Receiver<Result<()>>) -> Result<()> {
    while let Some(how) = readiness.recv().await {
        how?;
    }
    Ok(())
}

fn closed(operation: &'static str) -> Error {
    Error::new(ErrorKind::Closed, operation, "the store is closed; open it again")
}

fn lost(operation: &'static str) -> Error {
    Error::new(ErrorKind::Internal, operation, "the call was given up half-way, and undone")
}

#[cfg(test)]
mod tests;
