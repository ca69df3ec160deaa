//! From SQLite's errors to the engine's.

use memory_engine_core::{Error, ErrorKind};
use rusqlite::ffi::ErrorCode;

/// What a job on a connection fails with, before it is known in which call.
#[derive(Debug)]
pub(crate) enum Failure {
    /// SQLite said so.
    Sqlite(rusqlite::Error),
    /// The engine's rules say so, or the file holds what it should not.
    Engine(Error),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Engine(error)
    }
}

impl Failure {
    /// A stored value that cannot be what was written.
    pub(crate) fn corrupt(what: &str) -> Self {
        Self::Engine(Error::new(
            ErrorKind::Corrupt,
            "read",
            format!("the database holds {what} that cannot be read; restore it from a backup"),
        ))
    }

    /// The error of the call `operation`.
    pub(crate) fn into_error(self, operation: &'static str) -> Error {
        match self {
            Self::Engine(error) => error,
            Self::Sqlite(error) => {
                let (kind, message) = meaning(&error);
                Error::new(kind, operation, message).with_source(error)
            }
        }
    }
}

/// What an error of SQLite means. Its own message stays in the source: it can quote what was written.
pub(crate) fn meaning(error: &rusqlite::Error) -> (ErrorKind, &'static str) {
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
        Some(ErrorCode::OutOfMemory) => (ErrorKind::Unavailable, "there is no memory left"),
        Some(ErrorCode::SystemIoFailure | ErrorCode::FileLockingProtocolFailed) => {
            (ErrorKind::Unavailable, "the disk could not be read or written")
        }
        Some(ErrorCode::CannotOpen) => {
            (ErrorKind::Unavailable, "the database file cannot be opened; is its directory there, and writable?")
        }
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied) => {
            (ErrorKind::Unauthorized, "the database may not be written; the file and its directory have to be writable")
        }
        Some(ErrorCode::NotADatabase) => (ErrorKind::InvalidInput, "the file is not a SQLite database"),
        Some(ErrorCode::DatabaseCorrupt) => {
            (ErrorKind::Corrupt, "the database file is damaged; restore it from a backup")
        }
        Some(ErrorCode::SchemaChanged) => {
            (ErrorKind::Unavailable, "another process changed the database's tables meanwhile; try again")
        }
        Some(ErrorCode::TooBig) => (ErrorKind::InvalidInput, "a value is larger than the database can keep"),
        Some(_) | None => (ErrorKind::Internal, "the database refused a statement of the engine's own"),
    }
}
