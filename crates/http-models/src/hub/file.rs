//! Downloaded files and download progress.

use std::path::Path;

use memory_engine_core::{Error, ErrorKind};

pub(super) const OPERATION: &str = "fetch model";

/// The check that a file has passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verification {
    /// Its checksum equals one that the caller or this crate specifies.
    Pinned,
    /// Its checksum equals the one that the hub reports.
    Hub,
    /// Its checksum equals the one recorded at its download.
    Recorded,
    /// Only its size was compared, because no checksum is available.
    Size,
}

/// A verified file of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedFile {
    /// Its name within the model.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal.
    pub sha256: String,
    /// The check that the file has passed.
    pub verification: Verification,
    /// True if it was downloaded by this call.
    pub downloaded: bool,
}

/// The progress of the download of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DownloadProgress<'a> {
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
