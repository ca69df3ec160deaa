//! The thread that writes: the only one of this process, so that writers queue here and not at SQLite's lock.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    time::Duration,
};

use memory_engine_core::{Error, ErrorKind};
use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::mpsc;

use crate::{cache::epoch, cache::writer::CacheWriter, database::connection, database::error::meaning};

/// Maximum number of writes that are committed together. Each is atomic by itself; they share one flush to disk.
const GROUP_COMMIT_MAX_WRITES: usize = 64;

/// Maximum number of attempts to truncate the log while there are no writes.
const MAX_CHECKPOINT_ATTEMPTS: usize = 40;

/// A write job. Without a transaction, it reports the error to its caller.
pub(crate) type WriteJob = Box<dyn FnOnce(Result<&Connection, CommitError>) -> WriteOutcome + Send>;

/// The result of one write within the transaction, and the reply to its caller, which is sent after the commit.
pub(crate) struct WriteOutcome {
    /// True if it failed and must be rolled back.
    pub(crate) failed: bool,
    /// The deleted data that it leaves in the log.
    pub(crate) residue: Residue,
    /// Tells the caller; takes the error when the commit failed.
    pub(crate) tell: Box<dyn FnOnce(Option<CommitError>) + Send>,
}

/// The deleted data that a write leaves in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Residue {
    /// It only added.
    None,
    /// It replaced something: the log is cleared when there is nothing else to write.
    Replaced,
    /// It deleted something: the log is cleared before the caller is told.
    Deleted,
}

/// The reason why a transaction could not be started or committed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CommitError {
    kind: ErrorKind,
    message: &'static str,
}

impl From<rusqlite::Error> for CommitError {
    fn from(failure: rusqlite::Error) -> Self {
        let (kind, message) = meaning(&failure);
        Self { kind, message }
    }
}

impl CommitError {
    /// A full or failing disk makes SQLite undo the whole transaction when one job of the group meets it.
    const UNDONE: Self = Self {
        kind: ErrorKind::Unavailable,
        message: "the database undid the write together with another one that failed; try again",
    };

    /// The error for one caller.
    pub(crate) fn error(self, operation: &'static str) -> Error {
        Error::new(self.kind, operation, self.message)
    }
}

/// Executes writes from the queue and flushes index caches, until the queue is closed and empty. Then waits for the
/// readers to end, calls `on_close` and closes the database.
pub(crate) fn work(
    mut connection: Connection,
    path: &Path,
    mut queue: mpsc::Receiver<WriteJob>,
    mut readers_ended: mpsc::Receiver<()>,
    busy_timeout: Duration,
    mut cache_writer: CacheWriter,
    on_close: impl FnOnce(&Connection),
) {
    let mut residue = Residue::None;
    while let Some(first) = queue.blocking_recv() {
        let mut group = vec![first];
        while group.len() < GROUP_COMMIT_MAX_WRITES
            && let Ok(next) = queue.try_recv()
        {
            group.push(next);
        }
        residue = residue.max(write(&mut connection, path, group, busy_timeout));
        // What fails is tried again after the next write: the database has everything.
        let _ = cache_writer.flush_if_due(&mut connection);
        for _ in 0..MAX_CHECKPOINT_ATTEMPTS {
            if residue == Residue::None || !queue.is_empty() {
                break;
            }
            if connection::clear_log(&connection, busy_timeout) {
                residue = Residue::None;
            }
        }
    }
    // Nothing is ever sent: this returns when the last reader has let go of the other end.
    let _ = readers_ended.blocking_recv();
    on_close(&connection);
    let _ = cache_writer.flush_on_close(&mut connection);
    connection::close(connection);
}

/// Writes a group in one transaction and tells each caller; what is still to be cleared from the log.
fn write(connection: &mut Connection, path: &Path, group: Vec<WriteJob>, busy_timeout: Duration) -> Residue {
    let mut answers = Vec::with_capacity(group.len());
    let mut group = group.into_iter();
    let failed = commit(connection, path, &mut group, &mut answers).err();
    if let Some(failed) = failed {
        answers.extend(group.map(|job| job(Err(failed))));
    }
    let mut residue = answers.iter().map(|answer| answer.residue).max().unwrap_or(Residue::None);
    if residue == Residue::Deleted && connection::clear_log(connection, busy_timeout) {
        residue = Residue::None;
    }
    for answer in answers {
        (answer.tell)(failed);
    }
    residue
}

/// Runs the jobs of a group, each by itself all or none, and commits them. After an error the rest of the group has
/// not been run, and nothing has been written.
fn commit(
    connection: &mut Connection,
    path: &Path,
    group: &mut impl ExactSizeIterator<Item = WriteJob>,
    answers: &mut Vec<WriteOutcome>,
) -> Result<(), CommitError> {
    let alone = group.len() == 1;
    let mut transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if alone {
        let answer = group.next().and_then(|job| run(job, &transaction));
        let failed = answer.as_ref().is_none_or(|answer| answer.failed);
        answers.extend(answer);
        if !failed {
            end_cache_epoch(&transaction, path, answers)?;
        }
        return Ok(if failed { transaction.rollback() } else { transaction.commit() }?);
    }
    while group.len() > 0 {
        let savepoint = transaction.savepoint()?;
        let Some(answer) = group.next().map(|job| run(job, &savepoint)) else { break };
        let failed = answer.as_ref().is_none_or(|answer| answer.failed);
        answers.extend(answer);
        if failed && savepoint.is_autocommit() {
            return Err(CommitError::UNDONE);
        }
        if failed { savepoint.finish()? } else { savepoint.commit()? }
    }
    end_cache_epoch(&transaction, path, answers)?;
    Ok(transaction.commit()?)
}

/// Ends the epoch of the index caches if something was deleted or replaced: it must not stay in a cache file.
fn end_cache_epoch(connection: &Connection, path: &Path, answers: &[WriteOutcome]) -> rusqlite::Result<()> {
    if answers.iter().any(|answer| answer.residue != Residue::None) {
        epoch::end(connection, path)?;
    }
    Ok(())
}

/// Runs one job. A bug in it must not take the thread from all others; its caller hears that there is no answer.
fn run(job: WriteJob, connection: &Connection) -> Option<WriteOutcome> {
    catch_unwind(AssertUnwindSafe(|| job(Ok(connection)))).ok()
}
