//! Notices that another program has removed, replaced or cut the files of an open database.
//!
//! SQLite goes on with a file that has no name any more: its writes succeed, and are gone when the process ends.

use std::{
    fs::{self, Metadata},
    io,
    path::{Path, PathBuf},
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use memory_engine_core::ErrorKind;

use crate::database::{
    error::CommitError,
    shared_file::{open_for_ever, read_start},
};

/// Number of checks of a file that became smaller, before it counts as cut.
const MAX_LOOKS: usize = 5;
const LOOK_PAUSE: Duration = Duration::from_millis(50);
/// Number of bytes of a header that are read: up to the number of pages.
const HEADER_BYTES: usize = 32;

const REPLACED: &str = "the file of the database was deleted or replaced while it was open, so this process refuses to \
    go on: a write would be lost. Stop this process, put the right file in its place, and start it again";
const LOG_REPLACED: &str = "the file -wal or -shm of the database was deleted or replaced while it was open, so this \
    process refuses to go on: a write could be lost. Stop this process, so that it writes what it has into the \
    database, and start it again";
const CUT: &str = "the file of the database was cut while it was open. Stop this process, restore the file from a \
    backup, and start it again";

/// The files of an open database as they were when it was opened.
#[derive(Debug)]
pub(crate) struct FileWatch {
    path: PathBuf,
    is_encrypted: bool,
    identity: OnceLock<Identity>,
    /// The files that the connections of all processes share: the log and its index. Once they exist, they stay until
    /// the last connection is closed.
    shared: [(PathBuf, OnceLock<Identity>); 2],
    /// The size of the database file at the last check.
    bytes: AtomicU64,
    /// The first loss that was found. SQLite may fill a file that was cut, so that it looks well again.
    loss: OnceLock<&'static str>,
}

/// Tells one file from another one of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity(u64, u64);

impl Identity {
    #[cfg(unix)]
    fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;

        Self(metadata.dev(), metadata.ino())
    }

    /// Windows does not let anybody remove an open file.
    #[cfg(not(unix))]
    fn of(_: &Metadata) -> Self {
        Self(0, 0)
    }
}

impl FileWatch {
    pub(crate) fn new(path: &Path, is_encrypted: bool) -> Self {
        let file = |suffix: &str| {
            let mut name = path.as_os_str().to_owned();
            name.push(suffix);
            (PathBuf::from(name), OnceLock::new())
        };
        Self {
            path: path.to_owned(),
            is_encrypted,
            identity: OnceLock::new(),
            shared: [file("-wal"), file("-shm")],
            bytes: AtomicU64::new(0),
            loss: OnceLock::new(),
        }
    }

    /// The path of the database file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The path of the write-ahead log.
    pub(crate) fn log_path(&self) -> &Path {
        let [(path, _), _] = &self.shared;
        path
    }

    /// Compares the files with those of the first call, which must be made after the database was opened.
    ///
    /// # Errors
    /// `Unavailable` if one was removed, replaced or cut, and after that for ever.
    pub(crate) fn check(&self) -> Result<(), CommitError> {
        let loss = self.loss.get().copied().or_else(|| self.find_loss().map(|loss| *self.loss.get_or_init(|| loss)));
        loss.map_or(Ok(()), |loss| Err(CommitError::new(ErrorKind::Unavailable, loss)))
    }

    fn find_loss(&self) -> Option<&'static str> {
        let metadata = match fs::metadata(&self.path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(REPLACED),
            // A folder that cannot be read at the moment says nothing about the file.
            Err(_) => return None,
        };
        let identity = Identity::of(&metadata);
        if *self.identity.get_or_init(|| identity) != identity {
            return Some(REPLACED);
        }
        for (path, identity) in &self.shared {
            match fs::metadata(path).map(|metadata| Identity::of(&metadata)) {
                Ok(found) if *identity.get_or_init(|| found) != found => return Some(LOG_REPLACED),
                Err(error) if error.kind() == io::ErrorKind::NotFound && identity.get().is_some() => {
                    return Some(LOG_REPLACED);
                }
                Ok(_) | Err(_) => {}
            }
        }
        if metadata.len() < self.bytes.load(Ordering::Relaxed) && self.is_cut() {
            return Some(CUT);
        }
        self.bytes.store(metadata.len(), Ordering::Relaxed);
        None
    }

    /// Returns true if the file stays smaller than its header says. `VACUUM` changes both. A checkpoint writes the
    /// header before the pages at the end. The header of an encrypted file cannot be read, so that only an empty one
    /// counts as cut.
    fn is_cut(&self) -> bool {
        for attempt in 0..MAX_LOOKS {
            if attempt > 0 {
                thread::park_timeout(LOOK_PAUSE);
            }
            let bytes_of_header = if self.is_encrypted { Ok(1) } else { self.bytes_of_header() };
            let bytes = fs::metadata(&self.path).map(|metadata| metadata.len());
            if !matches!((bytes, bytes_of_header), (Ok(bytes), Ok(expected)) if bytes < expected) {
                return false;
            }
        }
        true
    }

    /// Returns the size of the database according to its header; the size of the header if the file is shorter.
    fn bytes_of_header(&self) -> io::Result<u64> {
        let mut header = [0; HEADER_BYTES];
        match open_for_ever(&self.path).and_then(|file| read_start(file, &mut header)) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(HEADER_BYTES as u64),
            read => read?,
        }
        let page_bytes = match u16::from_be_bytes([header[16], header[17]]) {
            1 => 65_536,
            bytes => u64::from(bytes),
        };
        Ok(page_bytes * u64::from(u32::from_be_bytes([header[28], header[29], header[30], header[31]])))
    }
}
