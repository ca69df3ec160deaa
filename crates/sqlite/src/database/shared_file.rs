//! Reads a database file that SQLite has open as well, and writes its log again.

use std::{
    fs::File,
    io::{self, Read, Seek, Write},
    path::Path,
};

/// Number of bytes of the log that are read and written at once.
const REWRITE_CHUNK_BYTES: usize = 1 << 20;

#[cfg(unix)]
pub(crate) fn read_start(file: &File, start: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, start, 0)
}

#[cfg(not(unix))]
pub(crate) fn read_start(mut file: File, start: &mut [u8]) -> io::Result<()> {
    io::Read::read_exact(&mut file, start)
}

/// Writes the write-ahead log in place and synchronizes it. The caller holds the write lock. SQLite holds no lock on
/// this file that closing it could release.
pub(crate) fn rewrite_log(path: &Path) -> io::Result<()> {
    let mut log = File::options().read(true).write(true).open(path)?;
    let mut chunk = vec![0; REWRITE_CHUNK_BYTES];
    let mut offset = 0;
    loop {
        let length = log.read(&mut chunk)?;
        if length == 0 {
            return log.sync_all();
        }
        log.seek(io::SeekFrom::Start(offset))?;
        log.write_all(&chunk[..length])?;
        offset += length as u64;
    }
}

/// Opens a database file and never closes it again. On Unix, closing any handle on a file releases all POSIX locks that
/// the process has on it, which would be those of SQLite. The same file is opened once.
#[cfg(unix)]
pub(crate) fn open_for_ever(path: &Path) -> io::Result<&'static File> {
    use std::{collections::BTreeMap, fs, os::unix::fs::MetadataExt};

    use parking_lot::Mutex;

    static FILES: Mutex<BTreeMap<(u64, u64), &'static File>> = Mutex::new(BTreeMap::new());
    let mut files = FILES.lock();
    let metadata = fs::metadata(path)?;
    if let Some(file) = files.get(&(metadata.dev(), metadata.ino())) {
        return Ok(file);
    }
    let file: &'static File = Box::leak(Box::new(File::open(path)?));
    let opened = file.metadata()?;
    files.insert((opened.dev(), opened.ino()), file);
    Ok(file)
}

#[cfg(not(unix))]
pub(crate) fn open_for_ever(path: &Path) -> io::Result<File> {
    File::open(path)
}
