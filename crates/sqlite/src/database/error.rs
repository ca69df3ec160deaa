//! Converts errors of SQLite to public errors.

use memory_engine_core::{DamagedRecord, Error, ErrorKind};
use memory_engine_sql::rows;
use rusqlite::ffi::{ErrorCode, SQLITE_IOERR_FSYNC};

/// The message for a disk that fails.
const DISK_FAILED: &str = "the disk cannot be read or written; check it and try again";

/// The error of a job on a connection, without the name of the operation.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SqliteError {
    /// An error of SQLite.
    #[error("{}", kind_and_message(.0).1)]
    Sqlite(#[from] rusqlite::Error),
    /// The engine refused the call, or read an invalid value.
    #[error(transparent)]
    Engine(#[from] Error),
}

impl SqliteError {
    /// Returns the error for a stored value that no version of this crate can have written. `what` names the value.
    pub(crate) fn corrupt(what: &str) -> Self {
        Self::Engine(rows::corrupt(what))
    }

    /// Returns the kind of the public error.
    pub(crate) fn kind(&self) -> ErrorKind {
        match self {
            Self::Engine(error) => error.kind(),
            Self::Sqlite(error) => kind_and_message(error).0,
        }
    }

    /// Converts the error to that of an operation.
    pub(crate) fn into_error(self, operation: &'static str) -> Error {
        match self {
            Self::Engine(error) => error,
            Self::Sqlite(error) => {
                let (kind, message) = kind_and_message(&error);
                Error::new(kind, operation, message).with_source(error)
            }
        }
    }
}

impl From<DamagedRecord> for SqliteError {
    fn from(damaged: DamagedRecord) -> Self {
        Self::Engine(damaged.into_error("read"))
    }
}

/// The reason why a transaction could not be started or committed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CommitError {
    kind: ErrorKind,
    message: &'static str,
    is_failed_sync: bool,
}

impl From<rusqlite::Error> for CommitError {
    fn from(failure: rusqlite::Error) -> Self {
        let (kind, message) = kind_and_message(&failure);
        Self { kind, message, is_failed_sync: is_failed_sync(&failure) }
    }
}

impl CommitError {
    /// SQLite rolls the whole transaction back if a write of the group fails because of a full or failing disk.
    pub(crate) const ROLLED_BACK: Self = Self {
        kind: ErrorKind::Unavailable,
        message: "the write was rolled back together with another one that failed; try again",
        is_failed_sync: false,
    };
    /// The log could not be written again after a sync that failed.
    pub(crate) const LOG_INCOMPLETE: Self =
        Self { kind: ErrorKind::Unavailable, message: DISK_FAILED, is_failed_sync: false };

    pub(crate) fn new(kind: ErrorKind, message: &'static str) -> Self {
        Self { kind, message, is_failed_sync: false }
    }

    /// Returns true if a sync of the commit has failed.
    pub(crate) fn is_failed_sync(self) -> bool {
        self.is_failed_sync
    }

    /// Returns the error of one operation.
    pub(crate) fn into_error(self, operation: &'static str) -> Error {
        Error::new(self.kind, operation, self.message)
    }
}

/// Returns true if SQLite could not synchronize a file.
pub(crate) fn is_failed_sync(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|error| error.extended_code == SQLITE_IOERR_FSYNC)
}

/// Returns the kind and the message of the public error. SQLite's own message stays in its source, because it can quote
/// stored text.
pub(crate) fn kind_and_message(error: &rusqlite::Error) -> (ErrorKind, &'static str) {
    if matches!(
        error,
        rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::Utf8Error(..)
    ) {
        return (ErrorKind::Corrupt, "the database holds a value that cannot be read; restore it from a backup");
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            (ErrorKind::Unavailable, "another process holds the write lock of the database; try again")
        }
        Some(ErrorCode::DiskFull) => (ErrorKind::Unavailable, "the disk is full; make room and try again"),
        Some(ErrorCode::OutOfMemory) => (ErrorKind::Unavailable, "memory is exhausted; free some and try again"),
        Some(ErrorCode::SystemIoFailure | ErrorCode::FileLockingProtocolFailed) => {
            (ErrorKind::Unavailable, DISK_FAILED)
        }
        Some(ErrorCode::CannotOpen) => (
            ErrorKind::Unavailable,
            "the database file cannot be opened; check that its directory exists and is writable",
        ),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied) => {
            (ErrorKind::Unauthorized, "the database cannot be written; make the file and its directory writable")
        }
        Some(ErrorCode::NotADatabase) => {
            (ErrorKind::InvalidInput, "the file is not a SQLite database; if it is encrypted, give its key")
        }
        Some(ErrorCode::DatabaseCorrupt) => {
            (ErrorKind::Corrupt, "the database file is damaged; restore it from a backup")
        }
        Some(ErrorCode::SchemaChanged) => {
            (ErrorKind::Unavailable, "another process has changed the tables of the database; try again")
        }
        Some(ErrorCode::TooBig) => (ErrorKind::InvalidInput, "a value is larger than SQLite can store; shorten it"),
        Some(_) | None => (ErrorKind::Internal, "the database refused a statement of the engine; please report this"),
    }
}
