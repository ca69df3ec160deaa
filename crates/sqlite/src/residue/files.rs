//! Searches the bytes of the files of a database.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use memory_engine_core::{
    Error, ErrorKind,
    residue::{ByteSearch, PlaceKind, ResidueReport, SearchedPlace, Trace},
};
use rustc_hash::FxHashSet;

use crate::database::{
    error::SqliteError,
    shared_file::{open_for_ever, read_start},
};

/// The first bytes of a SQLite database.
const SQLITE_MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// Searches the database file, its log, and every other file next to it whose name begins with that of the database.
/// `shared` are the fragments that remaining records contain.
pub(super) fn search(
    database: &Path,
    byte_search: &ByteSearch,
    shared: &FxHashSet<u32>,
    report: &mut ResidueReport,
) -> Result<(), SqliteError> {
    let is_encrypted = is_encrypted(database);
    for (path, suffix) in files_of(database) {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let mut place = SearchedPlace::new(PlaceKind::File, name);
        if suffix.is_empty() || suffix == "-wal" {
            place = place.with_kept_ids("it contains the tombstones");
        }
        if suffix == "-shm" {
            // It has no content of records. Closing it would release the locks of this process.
            report.places.push(place.with_not_searched("it has only page numbers, no contents"));
            continue;
        }
        if is_encrypted {
            report.places.push(place.with_not_searched("it is encrypted; the rows of the database were searched"));
            continue;
        }
        let found = &mut |trace| match trace {
            Trace::Id(_) => place.ids += 1,
            Trace::Text(number) if shared.contains(&number) => place.shared += 1,
            Trace::Text(_) => place.texts += 1,
        };
        let searched = if suffix.is_empty() {
            open_for_ever(&path).and_then(|file| search_from_start(file, byte_search, found))
        } else {
            File::open(&path).and_then(|file| byte_search.search_reader(file, found))
        };
        match searched {
            Ok(bytes) => place.searched = bytes,
            // A cache or the log was removed in the meantime.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => {
                let message = format!("{} cannot be read; check its permissions", path.display());
                return Err(Error::new(ErrorKind::Unavailable, "find residue", message).with_source(error).into());
            }
        }
        report.places.push(place);
    }
    Ok(())
}

/// Returns true if the file does not begin as a SQLite database does.
fn is_encrypted(database: &Path) -> bool {
    let mut start = [0; SQLITE_MAGIC.len()];
    let read = open_for_ever(database).and_then(|file| read_start(file, &mut start));
    read.is_ok() && start != *SQLITE_MAGIC
}

/// Returns the files of a database that have content, with the ends of their names after that of the database.
fn files_of(database: &Path) -> Vec<(PathBuf, String)> {
    let mut files = vec![(database.to_owned(), String::new())];
    let name = database.file_name().and_then(|name| name.to_str());
    let (Some(directory), Some(name)) = (database.parent(), name) else { return files };
    let mut others: Vec<(PathBuf, String)> = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let file = entry.file_name();
        let Some(suffix) = file.to_str().and_then(|file| file.strip_prefix(name)) else { continue };
        // The files of lease owners are empty.
        let has_content = entry.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0);
        if suffix.starts_with('-') && has_content {
            others.push((entry.path(), suffix.to_owned()));
        }
    }
    others.sort();
    files.extend(others);
    files
}

#[cfg(unix)]
fn search_from_start(file: &File, search: &ByteSearch, found: &mut impl FnMut(Trace)) -> io::Result<u64> {
    use std::os::unix::fs::FileExt;

    /// Reads at an own position, because other threads may read the same file.
    struct Reader<'f>(&'f File, u64);

    impl io::Read for Reader<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.0.read_at(buffer, self.1)?;
            self.1 += count as u64;
            Ok(count)
        }
    }
    search.search_reader(Reader(file, 0), found)
}

#[cfg(not(unix))]
fn search_from_start(file: File, search: &ByteSearch, found: &mut impl FnMut(Trace)) -> io::Result<u64> {
    search.search_reader(file, found)
}
