//! Opens the files of a source.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};

use crate::error::ImportError;

/// A function that opens a file of a source.
pub(crate) type OpenFile = fn(&Path) -> Result<File, ImportError>;

/// Returns the size of files in bytes. That of a link is its own.
pub(crate) fn total_size(files: &[PathBuf]) -> Result<u64, ImportError> {
    let mut size = 0;
    for file in files {
        size += fs::symlink_metadata(file).map_err(|source| ImportError::Open { path: file.clone(), source })?.len();
    }
    Ok(size)
}

/// Opens a file of a folder, which must be a regular file. A link could name any file of the machine, and a FIFO or a
/// device may have no end.
pub(crate) fn open_listed(file: &Path) -> Result<File, ImportError> {
    let failed = |source| ImportError::Open { path: file.to_owned(), source };
    if !fs::symlink_metadata(file).map_err(failed)?.is_file() {
        return Err(ImportError::NotRegular(file.to_owned()));
    }
    File::open(file).map_err(failed)
}

/// Opens a file that the user has named. Links and FIFOs are opened, devices are not.
///
/// # Errors
/// If the file cannot be read, or is a device.
pub fn open_named(file: &Path) -> Result<File, ImportError> {
    let failed = |source| ImportError::Open { path: file.to_owned(), source };
    if is_device(&fs::metadata(file).map_err(failed)?) {
        return Err(ImportError::Device(file.to_owned()));
    }
    File::open(file).map_err(failed)
}

#[cfg(unix)]
fn is_device(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    metadata.file_type().is_char_device() || metadata.file_type().is_block_device()
}

#[cfg(not(unix))]
fn is_device(_: &fs::Metadata) -> bool {
    false
}
