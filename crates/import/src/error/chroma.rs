//! Errors of reading Chroma's database.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// A Chroma directory that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChromaError {
    /// There is no such file.
    #[error("there is no {missing}; name the directory that chromadb.PersistentClient was given")]
    Missing {
        /// The file that was expected.
        missing: String,
    },
    /// The directory was written by a version of Chroma before 0.4.
    #[error("{} was written by chromadb before 0.4; have chroma-migrate convert it first", .path.display())]
    OldVersion {
        /// The directory.
        path: PathBuf,
    },
    /// The file is a SQLite database without Chroma's tables.
    #[error("{} is a database of something else, not Chroma's", .path.display())]
    ForeignDatabase {
        /// The file.
        path: PathBuf,
    },
    /// SQLite reported an error.
    #[error("{}: {problem}", .path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// The problem in words.
        problem: &'static str,
        /// The error of SQLite.
        source: rusqlite::Error,
    },
}

impl ChromaError {
    pub(crate) fn of(path: &Path, source: rusqlite::Error) -> Self {
        Self::Database { path: path.to_owned(), problem: problem(&source), source }
    }
}

fn problem(error: &rusqlite::Error) -> &'static str {
    match error.sqlite_error_code() {
        Some(
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::SystemIoFailure
            | ErrorCode::FileLockingProtocolFailed
            | ErrorCode::CannotOpen
            | ErrorCode::SchemaChanged,
        ) => "the file cannot be read while another program writes to it; end that and try again",
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied) => {
            "the file may not be read"
        }
        Some(ErrorCode::NotADatabase) => "the file is not a SQLite database",
        Some(ErrorCode::DatabaseCorrupt) => "the file is damaged",
        Some(_) | None => "the tables are not those that Chroma makes",
    }
}
