//! Downloaded files and download progress.

use std::path::Path;

use memory_engine_core::{Error, ErrorKind};

pub(super) const OPERATION: &str = "fetch model";

/// The verification of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checked {
    /// Its checksum equals one that the caller or this crate specifies.
    Pinned,
    /// Its checksum equals the one that the hub reports.
    Hub,
    /// Its checksum equals the one recorded at its download.
    Noted,
    /// Only its size was compared, because no checksum is available.
    Size,
}

/// A verified file of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// Its name within the model.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal.
    pub sha256: String,
    /// The verification of the file.
    pub checked: Checked,
    /// True if it was downloaded by this call.
    pub downloaded: bool,
}

/// The progress of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step<'a> {
    /// Its name within the model.
    pub name: &'a str,
    /// Number of bytes so far, including those of an earlier download.
    pub bytes: u64,
    /// Total number of bytes, if the hub states it.
    pub total: Option<u64>,
}

/// Converts a file system error, with the path.
pub(super) fn file_error(path: &Path, error: std::io::Error) -> Error {
    let denied = error.kind() == std::io::ErrorKind::PermissionDenied;
    let kind = if denied { ErrorKind::Unauthorized } else { ErrorKind::Unavailable };
    Error::new(kind, OPERATION, format!("{}: {error}", path.display()))
}
