//! Files of a model while they are fetched.

use std::path::Path;

use memory_engine_core::{Error, ErrorKind};

pub(super) const OPERATION: &str = "fetch model";

/// By what a file was found to be the right one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checked {
    /// By a sum that the caller or this crate knew beforehand.
    Pinned,
    /// By the sum that the hub gave with it: what came is what the hub has.
    Hub,
    /// By a sum noted when it was fetched: it has not changed since.
    Noted,
    /// By its size alone: neither caller nor hub gave a sum.
    Size,
}

/// A file that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// Its name within the model.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal.
    pub sha256: String,
    /// By what it was found to be the right one.
    pub checked: Checked,
    /// True if it was downloaded by this call.
    pub downloaded: bool,
}

/// The progress of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step<'a> {
    /// Its name within the model.
    pub name: &'a str,
    /// Number of bytes so far, including those of an earlier download.
    pub bytes: u64,
    /// Total number of bytes, if the hub states it.
    pub total: Option<u64>,
}

/// An error of the file system, with the place.
pub(super) fn at(path: &Path, error: std::io::Error) -> Error {
    let denied = error.kind() == std::io::ErrorKind::PermissionDenied;
    let kind = if denied { ErrorKind::Unauthorized } else { ErrorKind::Unavailable };
    Error::new(kind, OPERATION, format!("{}: {error}", path.display()))
}
