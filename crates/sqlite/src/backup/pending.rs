//! The file of a backup before it has its name.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use memory_engine_core::{Error, ErrorKind, RecordId, Result};

/// A folder next to the final file, in which the file is made. Only its owner can read it. It is removed when this
/// value is dropped. What a killed process leaves is removed by the next run for the same file.
#[derive(Debug)]
pub(crate) struct PendingFile {
    target: PathBuf,
    folder: PathBuf,
    /// Locked while this process works in the folder.
    lock: Option<File>,
    operation: &'static str,
}

impl PendingFile {
    /// Creates the folder for a file that will be written to `target`.
    pub(crate) fn create(target: &Path, operation: &'static str) -> Result<Self> {
        let target = std::path::absolute(target)
            .map_err(|error| Error::invalid(operation, "the path is empty; name a file").with_source(error))?;
        if target.is_dir() {
            let message = format!("{} is a directory; name a file in it", target.display());
            return Err(Error::invalid(operation, message));
        }
        let parent = target.parent().unwrap_or(Path::new("/"));
        if !parent.is_dir() {
            let message = format!("the directory {} does not exist; create it first", parent.display());
            return Err(Error::new(ErrorKind::NotFound, operation, message));
        }
        let Some(name) = target.file_name() else {
            return Err(Error::invalid(operation, "the path names no file; add its name"));
        };
        let prefix = format!(".{}.incomplete-", name.to_string_lossy());
        remove_abandoned(parent, &prefix);
        let folder = parent.join(format!("{prefix}{}", RecordId::new()));
        let failed = |error| io_error(operation, &folder, error);
        create_private_folder(&folder).map_err(failed)?;
        // From here on the folder is removed if this function fails.
        let mut pending = Self { target, folder: folder.clone(), lock: None, operation };
        let lock = File::create(folder.join("lock")).map_err(failed)?;
        lock.lock().map_err(failed)?;
        pending.lock = Some(lock);
        Ok(pending)
    }

    /// Returns the path of a file in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Gives the file `name` of the folder its final name. An existing file is replaced only with `overwrite`.
    pub(crate) fn publish(self, name: &str, overwrite: bool) -> Result<()> {
        let file = self.path(name);
        let failed = |error| io_error(self.operation, &self.target, error);
        File::open(&file).and_then(|file| file.sync_all()).map_err(failed)?;
        if overwrite {
            fs::rename(&file, &self.target).map_err(failed)?;
        } else {
            // A link, unlike a rename, never replaces a file that another process has created in the meantime.
            match fs::hard_link(&file, &self.target) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    return Err(exists_error(self.operation, &self.target));
                }
                // A file system without links.
                Err(_) if !self.target.exists() => fs::rename(&file, &self.target).map_err(failed)?,
                Err(_) => return Err(exists_error(self.operation, &self.target)),
            }
        }
        // A file system whose directories cannot be synchronized still has the file.
        let _ = self.target.parent().map(|parent| File::open(parent).and_then(|parent| parent.sync_all()));
        Ok(())
    }
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        drop(self.lock.take());
        // A folder that cannot be removed now is removed by the next run.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Returns the error for a file that exists.
pub(crate) fn exists_error(operation: &'static str, path: &Path) -> Error {
    let message = format!("{} exists already and is not overwritten; choose another name", path.display());
    Error::new(ErrorKind::Conflict, operation, message)
}

fn io_error(operation: &'static str, path: &Path, error: io::Error) -> Error {
    let is_forbidden = matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem);
    let kind = if is_forbidden { ErrorKind::Unauthorized } else { ErrorKind::Unavailable };
    Error::new(kind, operation, format!("{} cannot be written: {error}", path.display()))
}

#[cfg(unix)]
fn create_private_folder(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().mode(0o700).create(path)
}

#[cfg(not(unix))]
fn create_private_folder(path: &Path) -> io::Result<()> {
    fs::create_dir(path)
}

/// Makes a new file readable by its owner only.
#[cfg(unix)]
pub(crate) fn create_private_file(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map(drop)
}

#[cfg(not(unix))]
pub(crate) fn create_private_file(path: &Path) -> io::Result<()> {
    fs::OpenOptions::new().write(true).create_new(true).open(path).map(drop)
}

/// Removes the folders of processes that have ended.
fn remove_abandoned(parent: &Path, prefix: &str) {
    let is_abandoned = |entry: &fs::DirEntry| {
        entry.file_name().to_string_lossy().starts_with(prefix)
            && File::open(entry.path().join("lock")).is_ok_and(|lock| lock.try_lock().is_ok())
    };
    for entry in fs::read_dir(parent).into_iter().flatten().flatten().filter(is_abandoned) {
        let _ = fs::remove_dir_all(entry.path());
    }
}
