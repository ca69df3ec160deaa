//! The SQLite store: opening and closing it, and running calls on its threads.

pub(crate) mod writer;

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
    cache::{index_caches::IndexCaches, vectors::VectorIndex, writer::CacheWriter},
    database::{
        connection, epoch,
        error::{CommitError, SqliteError},
        file::DatabaseFile,
        file_watch::FileWatch,
        index_metadata,
        location::Location,
        options::SqliteOptions,
        readers::{self, ReadJob, ReadQueue},
        schema,
    },
    queue::lease_owner::LeaseOwner,
    reconcile::reconcile,
};
use memory_engine_sql::{index_metadata::IndexMetadata, options::StoreOptions};
use writer::{Durability, Residue, WriteJob, WriteJobOutcome};

/// All stores of memory-engine on one SQLite file: [`RecordStore`](memory_engine_core::RecordStore),
/// [`KeywordStore`](memory_engine_keyword_store::KeywordStore),
/// [`VectorStore`](memory_engine_vector_store::VectorStore), [`GraphStore`](memory_engine_graph::GraphStore) and
/// [`SynonymStore`](memory_engine_synonyms::SynonymStore).
///
/// One thread writes and a few threads read; no call blocks the runtime that awaits it. Several stores, also in several
/// processes, can open the same file, and each sees the writes of the others. Acknowledged writes are on the disk,
/// except for the worker's own changes of the job queue.
///
/// Dropping the store finishes the queued calls and closes the file, and blocks until then; [`close`](Self::close) does
/// the same without blocking. Handles in another space (see
/// [`EmbeddingVersionStore`](memory_engine_vector_store::EmbeddingVersionStore)) share the open file, and the last
/// handle closes it.
pub struct SqliteStore {
    space: EmbeddingSpace,
    metadata: IndexMetadata,
    caches: IndexCaches,
    database: Arc<OpenDatabase>,
}

/// An open database file with its threads.
struct OpenDatabase {
    path: PathBuf,
    watch: Arc<FileWatch>,
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

/// The threads of a file.
struct Threads {
    handles: Vec<JoinHandle<()>>,
    /// Closed when the writer thread, which is the last one, has ended. No message is ever sent on it.
    writer_ended: Option<mpsc::Receiver<()>>,
}

impl SqliteStore {
    /// Opens or creates a database file, and migrates it to the schema of this version.
    ///
    /// # Errors
    /// `NotFound` for a missing directory; `Unauthorized` for a read-only file or directory, and for a wrong or missing
    /// key; `InvalidInput` for a file that is not a SQLite database, belongs to another application, or is not
    /// encrypted although a key is given; `SchemaMismatch` for a file that was made by a newer version, another
    /// analyzer or another embedder (see [`Mismatch`](crate::Mismatch)); `Unsupported` for a key, if this SQLite cannot
    /// encrypt; `Unavailable` if another process holds the write lock for too long; `Corrupt` for a damaged file.
    ///
    /// # Cancel safety
    /// If the future is dropped, the file is either unchanged, or opened and closed again.
    pub async fn open(path: impl AsRef<Path>, store: StoreOptions) -> Result<Self> {
        Self::open_with(path, store, SqliteOptions::default()).await
    }

    /// Opens a file as [`open`](Self::open) does, with these options.
    ///
    /// # Errors
    /// As [`open`](Self::open), and `InvalidInput` for an option out of its range.
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
        let Location { path, links } = Location::resolve(path)?;
        // Earlier versions wrote caches next to the link. No version reads them again.
        links.iter().for_each(|link| epoch::remove_files(link));
        let metadata = IndexMetadata::new(&store);
        let (write, writes) = mpsc::channel(options.queue_length);
        let read = Arc::new(ReadQueue::new(options.queue_length));
        // No message is sent on these two channels. They are closed when the last thread that has the sender ends.
        let (readers_running, readers_ended) = mpsc::channel(1);
        let (writer_running, writer_ended) = mpsc::channel(1);
        let mut threads = Threads { handles: Vec::new(), writer_ended: Some(writer_ended) };
        // The caches would show which words a database contains, and are not encrypted.
        let caches = match &options.encryption_key {
            None => IndexCaches::new(&path, store.space.clone()),
            Some(_) => IndexCaches::without_files(store.space.clone()),
        };
        let file = DatabaseFile { path: path.clone(), key: options.encryption_key.clone() };
        let lease_owner = Arc::new(LeaseOwner::new(&path));
        let watch = Arc::new(FileWatch::new(&path, options.encryption_key.is_some()));
        let writer = WriterStart {
            file: file.clone(),
            store: store.clone(),
            options: options.clone(),
            metadata: metadata.clone(),
            caches: caches.clone(),
            lease_owner: Arc::clone(&lease_owner),
            watch: Arc::clone(&watch),
        };
        let (ready, mut readiness) = mpsc::channel(1);
        threads.handles.push(writer.spawn(writes, readers_ended, writer_running, ready)?);
        wait_until_ready(&mut readiness).await?;
        let (ready, mut readiness) = mpsc::channel(options.readers);
        threads.handles.extend(readers::start(&file, &options, &read, readers_running, ready)?);
        wait_until_ready(&mut readiness).await?;
        watch.check().map_err(|error| error.into_error("open"))?;
        let database = OpenDatabase {
            path,
            watch,
            clock: store.clock,
            lease_owner,
            flush_pending: Arc::default(),
            queues: Mutex::new(Some(Queues { write, read })),
            threads: Mutex::new(threads),
        };
        Ok(Self { space: store.space, metadata, caches, database: Arc::new(database) })
    }

    /// Returns a handle on the same file in another embedding space.
    pub(crate) fn with_space(&self, space: EmbeddingSpace) -> Self {
        let vectors = Arc::new(VectorIndex::new(space.clone(), None));
        let caches = IndexCaches { vectors, ..self.caches.clone() };
        Self { metadata: self.metadata.in_space(&space), space, caches, database: Arc::clone(&self.database) }
    }

    /// Returns the absolute path of the database file, without symbolic links.
    pub fn path(&self) -> &Path {
        &self.database.path
    }

    /// Finishes the queued calls and closes the file. Later calls fail with `Closed`.
    ///
    /// # Cancel safety
    /// If the future is dropped, the threads still finish and close the file.
    pub async fn close(&self) {
        drop(self.database.queues.lock().take());
        let writer_ended = self.database.threads.lock().writer_ended.take();
        if let Some(mut writer_ended) = writer_ended {
            // No message is ever sent on this channel: the call returns when the writer thread drops its sender.
            let _ = writer_ended.recv().await;
        }
        self.database.join();
    }

    pub(crate) fn embedding_space(&self) -> &EmbeddingSpace {
        &self.space
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.database.clock
    }

    pub(crate) fn lease_owner(&self) -> Arc<LeaseOwner> {
        Arc::clone(&self.database.lease_owner)
    }

    pub(crate) fn index_metadata(&self) -> IndexMetadata {
        self.metadata.clone()
    }

    pub(crate) fn caches(&self) -> IndexCaches {
        self.caches.clone()
    }

    /// Queues a flush of the index caches that lag, after the pending writes. Does not block.
    pub(crate) fn request_cache_flush(&self) {
        if !self.caches.needs_flush() || self.database.flush_pending.swap(true, Ordering::AcqRel) {
            return;
        }
        let flush_pending = Arc::clone(&self.database.flush_pending);
        // An empty write: the writer thread flushes caches after every group of writes.
        let run = Box::new(move |_: Result<&Connection, _>| {
            flush_pending.store(false, Ordering::Release);
            WriteJobOutcome { failed: false, residue: Residue::None, reply: Box::new(|_| {}) }
        });
        let job = WriteJob { durability: Durability::Immediate, run };
        let queued = self.queues("flush caches").is_ok_and(|queues| queues.write.try_send(job).is_ok());
        if !queued {
            self.database.flush_pending.store(false, Ordering::Release);
        }
    }

    fn queues(&self, operation: &'static str) -> Result<Queues> {
        self.database.queues.lock().clone().ok_or_else(|| closed_error(operation))
    }

    /// Runs `body` on a reader thread, in a transaction, so that all its reads see the same state of the database.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        operation: &'static str,
        body: impl FnOnce(&Connection) -> Result<T, SqliteError> + Send + 'static,
    ) -> Result<T> {
        let (sender, reply) = oneshot::channel();
        let caller_span = Span::current();
        let watch = Arc::clone(&self.database.watch);
        let job: ReadJob = Box::new(move |connection| {
            let _entered = caller_span.enter();
            let run = || {
                watch.check().map_err(|error| error.into_error(operation))?;
                let transaction = connection.transaction()?;
                let value = body(&transaction)?;
                transaction.finish()?;
                Ok(value)
            };
            // The caller may have dropped its future.
            let _ = sender.send(run().map_err(|failure: SqliteError| failure.into_error(operation)));
        });
        self.queues(operation)?.read.send(job).await;
        reply.await.map_err(|_| panic_error(operation))?
    }

    /// Runs `body` on the writer thread and waits until its changes are on the disk. If it fails, they are rolled back.
    /// `residue` returns the deleted data that the write leaves in the log.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        operation: &'static str,
        residue: fn(&T) -> Residue,
        body: impl FnOnce(&Connection) -> Result<T, SqliteError> + Send + 'static,
    ) -> Result<T> {
        self.write_with(Durability::Immediate, operation, residue, body).await
    }

    /// Runs `body` on the writer thread and waits until its changes are committed. They are on the disk at the time
    /// that `durability` requires.
    pub(crate) async fn write_with<T: Send + 'static>(
        &self,
        durability: Durability,
        operation: &'static str,
        residue: fn(&T) -> Residue,
        body: impl FnOnce(&Connection) -> Result<T, SqliteError> + Send + 'static,
    ) -> Result<T> {
        let (sender, reply) = oneshot::channel();
        let run = Box::new(move |connection: Result<&Connection, CommitError>| {
            let run = |connection| body(connection).map_err(|failure| failure.into_error(operation));
            let outcome = connection.map_err(|error| error.into_error(operation)).and_then(run);
            WriteJobOutcome {
                failed: outcome.is_err(),
                residue: outcome.as_ref().map_or(Residue::None, residue),
                reply: Box::new(move |commit_error| {
                    let result = match commit_error {
                        Some(error) => outcome.and(Err(error.into_error(operation))),
                        None => outcome,
                    };
                    // The caller may have dropped its future.
                    let _ = sender.send(result);
                }),
            }
        });
        let job = WriteJob { durability, run };
        self.queues(operation)?.write.send(job).await.map_err(|_| closed_error(operation))?;
        reply.await.map_err(|_| panic_error(operation))?
    }
}

impl OpenDatabase {
    /// Waits until the threads have ended.
    fn join(&self) {
        let handles = std::mem::take(&mut self.threads.lock().handles);
        for handle in handles {
            // A thread that panicked has nothing left to finish.
            let _ = handle.join();
        }
    }
}

impl Drop for OpenDatabase {
    fn drop(&mut self) {
        drop(self.queues.lock().take());
        self.join();
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore")
            .field("path", &self.database.path)
            .field("space", &self.space)
            .finish_non_exhaustive()
    }
}

/// The inputs of the writer thread.
struct WriterStart {
    file: DatabaseFile,
    store: StoreOptions,
    options: SqliteOptions,
    metadata: IndexMetadata,
    caches: IndexCaches,
    lease_owner: Arc<LeaseOwner>,
    watch: Arc<FileWatch>,
}

impl WriterStart {
    /// Starts the writer thread. It sends the result of opening the file to `ready`, and drops `running` when it ends.
    fn spawn(
        self,
        writes: mpsc::Receiver<WriteJob>,
        readers_ended: mpsc::Receiver<()>,
        running: mpsc::Sender<()>,
        ready: mpsc::Sender<Result<()>>,
    ) -> Result<JoinHandle<()>> {
        let opening_span = Span::current();
        readers::spawn("memory-write".into(), move || {
            let opened = opening_span.in_scope(|| self.open());
            // The thread outlives the span.
            drop(opening_span);
            match opened {
                Ok(connection) => {
                    readers::report_ready(ready, Ok(()));
                    self.run(connection, writes, readers_ended);
                }
                Err(error) => readers::report_ready(ready, Err(error)),
            }
            drop(running);
        })
    }

    /// Opens the file for writing, migrates it and reconciles its indexes.
    fn open(&self) -> Result<Connection> {
        let Self { file, store, options, metadata, .. } = self;
        let path = &file.path;
        connection::check_path(path)?;
        let page_size = connection::page_size(store.space.dimensions);
        let mut connection = connection::open_writer(file, options.busy_timeout, page_size)?;
        connection::configure(&connection, options, 2).map_err(|failure| failure.into_error("open"))?;
        // Usually there is nothing to write, so that opening does not wait for the write lock. The checks share one
        // transaction, because another process may be creating the file at the same time.
        if self.is_current(&mut connection).map_err(|error| error.into_error("open"))? {
            return Ok(connection);
        }
        schema::in_transaction(&mut connection, |transaction| {
            schema::migrate_to_latest(transaction, path)?;
            reconcile(transaction, metadata, store.mismatch, store.clock.now())
        })
        .map_err(|failure| failure.into_error("open"))?;
        Ok(connection)
    }

    /// Returns true if the file has the schema of this version, and indexes of the same analyzer and space.
    fn is_current(&self, connection: &mut Connection) -> Result<bool, SqliteError> {
        let transaction = connection.transaction()?;
        let schema = schema::read_schema(&transaction, &self.file.path)?;
        Ok(schema == schema::SCHEMA && index_metadata::matches(&transaction, &self.metadata)?)
    }

    /// Executes writes until the queue is closed and the readers have ended.
    fn run(self, connection: Connection, writes: mpsc::Receiver<WriteJob>, readers_ended: mpsc::Receiver<()>) {
        let Self { options, metadata, caches, lease_owner, watch, .. } = self;
        let cache_writer = CacheWriter::new(caches, metadata);
        let on_close = |connection: &Connection| lease_owner.retire(connection);
        writer::run(connection, writes, readers_ended, &options, &watch, cache_writer, on_close);
    }
}

/// Waits until all starting threads are ready. Returns the error of the first one that fails.
async fn wait_until_ready(readiness: &mut mpsc::Receiver<Result<()>>) -> Result<()> {
    while let Some(result) = readiness.recv().await {
        result?;
    }
    Ok(())
}

fn closed_error(operation: &'static str) -> Error {
    Error::new(ErrorKind::Closed, operation, "the store is closed; open it again")
}

/// The error of a call whose reply channel was dropped.
fn panic_error(operation: &'static str) -> Error {
    Error::new(
        ErrorKind::Internal,
        operation,
        "the call panicked, and its changes were rolled back; please report this",
    )
}

#[cfg(test)]
mod tests;
