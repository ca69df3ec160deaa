//! The private folder in which a file is written before it gets its name.

use std::{
    fs::{self, File, OpenOptions},
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
        loop {
            let folder = parent.join(format!("{prefix}{}", RecordId::new()));
            let failed = |error| io_error(operation, &folder, error);
            create_private_folder(&folder).map_err(failed)?;
            // Until the lock is held, another process takes the folder for abandoned and may remove it.
            match lock_folder(&folder) {
                Ok(Some(lock)) => return Ok(Self { target, folder, lock: Some(lock), operation }),
                Ok(None) => {}
                Err(error) => {
                    let _ = fs::remove_dir_all(&folder);
                    return Err(failed(error));
                }
            }
        }
    }

    /// Returns the path of a file in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Gives the file `name` of the folder its final name. An existing file is replaced only with `overwrite`.
    pub(crate) fn publish(self, name: &str, overwrite: bool) -> Result<()> {
        let file = self.path(name);
        let failed = |error| io_error(self.operation, &self.target, error);
        // Windows synchronizes only files that are open for writing.
        OpenOptions::new().write(true).open(&file).and_then(|file| file.sync_all()).map_err(failed)?;
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
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map(drop)
}

#[cfg(not(unix))]
pub(crate) fn create_private_file(path: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).open(path).map(drop)
}

/// The name of the file in the folder that its process has locked.
const LOCK: &str = "lock";

/// Locks a new folder. Returns nothing if another process removed it before it was locked.
fn lock_folder(folder: &Path) -> io::Result<Option<File>> {
    let path = folder.join(LOCK);
    let lock = match File::create(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        lock => lock?,
    };
    lock.lock()?;
    Ok(path.exists().then_some(lock))
}

/// Removes the folders of processes that have ended.
fn remove_abandoned(parent: &Path, prefix: &str) {
    let is_pending = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(prefix);
    for entry in fs::read_dir(parent).into_iter().flatten().flatten().filter(is_pending) {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let path = entry.path().join(LOCK);
        // Another account may have put a link or a pipe there.
        let may_open = path.symlink_metadata().map_or(true, |metadata| metadata.is_file());
        if !is_folder || !may_open {
            continue;
        }
        // A process that was killed when it had only begun to create or to remove its folder left no lock.
        let lock = OpenOptions::new().write(true).create(true).truncate(false).open(path);
        let Ok(lock) = lock else { continue };
        if lock.try_lock().is_err() {
            continue;
        }
        // Its owner may just begin. With another name, it does not find its folder, and creates another one.
        let removed = parent.join(format!("{prefix}{}", RecordId::new()));
        if fs::rename(entry.path(), &removed).is_ok() {
            let _ = fs::remove_dir_all(removed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_ended_processes_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let target = parent.path().join("monday.backup");
        let running = PendingFile::create(&target, "backup").unwrap();
        let abandoned = |name: &str, files: &[&str]| {
            let folder = parent.path().join(format!(".monday.backup.incomplete-{name}"));
            fs::create_dir(&folder).unwrap();
            files.iter().for_each(|file| fs::write(folder.join(file), "private").unwrap());
            folder
        };
        // Killed after it created the folder, while it wrote, and while it removed the folder.
        let killed = [abandoned("a", &[]), abandoned("b", &["lock", "copy"]), abandoned("c", &["copy"])];
        drop(PendingFile::create(&target, "backup").unwrap());
        for folder in killed {
            assert!(!folder.exists(), "{}", folder.display());
        }
        assert!(running.folder.exists());
        drop(running);
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn processes_that_begin_at_once_do_not_remove_each_others_folders() {
        let parent = tempfile::tempdir().unwrap();
        let target = parent.path().join("monday.backup");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        let pending = PendingFile::create(&target, "backup").unwrap();
                        fs::write(pending.path("copy"), "private").unwrap();
                        assert!(pending.path("copy").exists());
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }
}
