//! The writer thread. A store has only one, so that its writes queue here and do not contend for SQLite's lock.
//!
//! Reasons: `docs/design/decisions/0038-threads-for-sqlite.md`.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    time::Duration,
};

use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::mpsc;

use crate::{
    cache::writer::CacheWriter,
    database::{
        connection, epoch,
        error::{CommitError, is_failed_sync},
        file_watch::FileWatch,
        options::{SqliteOptions, Synchronous},
        shared_file,
    },
};

/// Maximum number of writes that are committed together. Each is atomic by itself; they share one flush to disk.
const GROUP_COMMIT_MAX_WRITES: usize = 64;

/// Maximum number of attempts to truncate the log while no write is queued. Each waits for readers for a limited time.
const MAX_CHECKPOINT_ATTEMPTS: usize = 40;

/// A function that writes. It gets the connection within a transaction, or the error of starting one, which it reports
/// to its caller.
type WriteFunction = dyn FnOnce(Result<&Connection, CommitError>) -> WriteJobOutcome + Send;

/// A write job.
pub(crate) struct WriteJob {
    pub(crate) durability: Durability,
    pub(crate) run: Box<WriteFunction>,
}

/// The time at which a write must be on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// Before the caller gets the reply.
    Immediate,
    /// With the next immediate write or checkpoint. Until then, a power failure can undo the write; a crash of the
    /// process cannot. Commits reach the log in order, so that no write after it remains without it.
    Deferred,
}

/// The result of one write within the transaction, and the reply to its caller, which is sent after the commit.
pub(crate) struct WriteJobOutcome {
    /// True if the write failed and must be rolled back.
    pub(crate) failed: bool,
    /// The old data that the write leaves in the log.
    pub(crate) residue: Residue,
    /// Sends the reply to the caller. Its argument is the error of the commit, if the commit failed.
    pub(crate) reply: Box<dyn FnOnce(Option<CommitError>) + Send>,
}

/// The old data that a write leaves in the write-ahead log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Residue {
    /// No residue: the write only added data.
    None,
    /// Replaced data. The log is cleared when no write is queued.
    Replaced,
    /// Deleted data. The log is cleared before the caller gets the reply.
    Deleted,
}

/// Executes writes from the queue and flushes index caches, until the queue is closed and empty. Then waits for the
/// readers to end, calls `on_close` and closes the database.
pub(crate) fn run(
    connection: Connection,
    mut queue: mpsc::Receiver<WriteJob>,
    mut readers_ended: mpsc::Receiver<()>,
    options: &SqliteOptions,
    watch: &FileWatch,
    mut cache_writer: CacheWriter,
    on_close: impl FnOnce(&Connection),
) {
    let busy_timeout = options.busy_timeout;
    let synchronous = options.synchronous;
    let mut writer = GroupWriter {
        connection,
        watch,
        busy_timeout,
        synchronous,
        current_synchronous: synchronous,
        log_is_incomplete: false,
    };
    let mut residue = Residue::None;
    while let Some(first) = queue.blocking_recv() {
        let mut group = vec![first];
        while group.len() < GROUP_COMMIT_MAX_WRITES
            && let Ok(next) = queue.try_recv()
        {
            group.push(next);
        }
        residue = residue.max(writer.write(group));
        // A flush that fails is tried again after the next write. Nothing is lost: the database has all data.
        let _ = cache_writer.flush_if_due(&mut writer.connection);
        for _ in 0..MAX_CHECKPOINT_ATTEMPTS {
            if residue == Residue::None || !queue.is_empty() {
                break;
            }
            if writer.clear_log() {
                residue = Residue::None;
            }
        }
    }
    // No message is ever sent on this channel: the call returns when the last reader thread drops its sender.
    let _ = readers_ended.blocking_recv();
    on_close(&writer.connection);
    let _ = cache_writer.flush_on_close(&mut writer.connection);
    connection::close(writer.connection);
}

/// Commits groups of writes.
struct GroupWriter<'p> {
    connection: Connection,
    watch: &'p FileWatch,
    busy_timeout: Duration,
    /// The setting `PRAGMA synchronous` for immediate writes.
    synchronous: Synchronous,
    /// The current setting.
    current_synchronous: Synchronous,
    /// True after a sync that failed, until the log was written again.
    log_is_incomplete: bool,
}

impl GroupWriter<'_> {
    /// Runs a group of jobs in one transaction and replies to their callers. Returns the residue that is still in the
    /// log.
    fn write(&mut self, group: Vec<WriteJob>) -> Residue {
        let mut outcomes = Vec::with_capacity(group.len());
        let is_deferred = group.iter().all(|job| job.durability == Durability::Deferred);
        let mut group = group.into_iter();
        let synchronous = if is_deferred { Synchronous::Normal } else { self.synchronous };
        let prepared = self.complete_log().and_then(|()| self.set_synchronous(synchronous));
        let committed = prepared.and_then(|()| self.commit(&mut group, &mut outcomes));
        self.log_is_incomplete |= committed.is_err_and(CommitError::is_failed_sync);
        // A commit into a file without a name must not be acknowledged.
        let commit_error = committed.and_then(|()| self.watch.check()).err();
        if let Some(error) = commit_error {
            outcomes.extend(group.map(|job| (job.run)(Err(error))));
        }
        let mut residue = outcomes.iter().map(|outcome| outcome.residue).max().unwrap_or(Residue::None);
        if residue == Residue::Deleted && self.clear_log() {
            residue = Residue::None;
        }
        for outcome in outcomes {
            (outcome.reply)(commit_error);
        }
        residue
    }

    /// Writes the log again if a sync of it has failed. Linux takes the pages of a failed sync for written, so that no
    /// later sync writes them. Without this, deferred commits among them would be a gap in the log on the disk, and a
    /// power failure would undo everything that was acknowledged after it.
    fn complete_log(&mut self) -> Result<(), CommitError> {
        if self.log_is_incomplete {
            // Keeps other processes from writing or truncating the log.
            let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            shared_file::rewrite_log(self.watch.log_path()).map_err(|_| CommitError::LOG_INCOMPLETE)?;
            transaction.rollback()?;
            self.log_is_incomplete = false;
        }
        Ok(())
    }

    /// Clears the log. Returns false if a reader or the disk prevents that.
    fn clear_log(&mut self) -> bool {
        let cleared = connection::clear_log(&self.connection, self.busy_timeout);
        self.log_is_incomplete |= cleared.as_ref().is_err_and(is_failed_sync);
        matches!(cleared, Ok(true))
    }

    /// Sets `PRAGMA synchronous` for the next commit. SQLite allows this only between transactions.
    fn set_synchronous(&mut self, synchronous: Synchronous) -> Result<(), CommitError> {
        if self.current_synchronous != synchronous {
            self.connection.pragma_update(None, "synchronous", synchronous.pragma())?;
            self.current_synchronous = synchronous;
        }
        Ok(())
    }

    /// Runs the jobs of a group and commits them. Each job is atomic: one that fails is rolled back alone. After an
    /// error nothing has been written, and the remaining jobs of the group have not been run.
    fn commit(
        &mut self,
        group: &mut impl ExactSizeIterator<Item = WriteJob>,
        outcomes: &mut Vec<WriteJobOutcome>,
    ) -> Result<(), CommitError> {
        let is_single = group.len() == 1;
        let mut transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if is_single {
            let outcome = group.next().and_then(|job| run_job(job, &transaction));
            let failed = outcome.as_ref().is_none_or(|outcome| outcome.failed);
            outcomes.extend(outcome);
            if !failed {
                end_cache_epoch(&transaction, self.watch.path(), outcomes)?;
            }
            return Ok(if failed { transaction.rollback() } else { transaction.commit() }?);
        }
        while group.len() > 0 {
            let savepoint = transaction.savepoint()?;
            let Some(outcome) = group.next().map(|job| run_job(job, &savepoint)) else { break };
            let failed = outcome.as_ref().is_none_or(|outcome| outcome.failed);
            outcomes.extend(outcome);
            // A connection without a transaction commits by itself: SQLite has rolled back the whole group.
            if failed && savepoint.is_autocommit() {
                return Err(CommitError::ROLLED_BACK);
            }
            if failed { savepoint.finish()? } else { savepoint.commit()? }
        }
        end_cache_epoch(&transaction, self.watch.path(), outcomes)?;
        Ok(transaction.commit()?)
    }
}

/// Ends the epoch of the index caches if data was deleted or replaced, because no cache file may still contain it.
fn end_cache_epoch(connection: &Connection, path: &Path, outcomes: &[WriteJobOutcome]) -> rusqlite::Result<()> {
    if outcomes.iter().any(|outcome| outcome.residue != Residue::None) {
        epoch::end(connection, path)?;
    }
    Ok(())
}

/// Runs one job. Returns `None` if it panics, because a panic must not end the thread. The caller of the job then gets
/// an error, because its reply channel is dropped.
fn run_job(job: WriteJob, connection: &Connection) -> Option<WriteJobOutcome> {
    catch_unwind(AssertUnwindSafe(|| (job.run)(Ok(connection)))).ok()
}
