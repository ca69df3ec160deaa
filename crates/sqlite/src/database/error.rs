//! Errors of SQLite, and the public errors that they become.

use memory_engine_core::{Error, ErrorKind};
use memory_engine_sql::rows;
use rusqlite::ffi::ErrorCode;

/// The error of a job on a connection, before the name of the call is known.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SqliteError {
    /// SQLite reported it.
    #[error("{}", meaning(.0).1)]
    Sqlite(#[from] rusqlite::Error),
    /// The engine refused the call, or read a value that cannot be right.
    #[error(transparent)]
    Engine(#[from] Error),
}

impl SqliteError {
    /// A stored value that no version of this crate can have written.
    pub(crate) fn corrupt(what: &str) -> Self {
        Self::Engine(rows::corrupt(what))
    }

    /// Returns the kind of the public error.
    pub(crate) fn kind(&self) -> ErrorKind {
        match self {
            Self::Engine(error) => error.kind(),
            Self::Sqlite(error) => meaning(error).0,
        }
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

/// The kind and message of an error of SQLite. SQLite's own message stays in the source: it can quote stored text.
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
