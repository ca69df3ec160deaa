//! The files of one index cache, next to the database. They may be deleted at any time: an index without a cache is
//! read from the database.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, BufReader, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use rusqlite::Connection;

use crate::{
    cache::{
        format::{self, LENGTH_BYTES, SegmentDigest, SegmentHeader, SegmentReader, SegmentRole, SegmentWriter},
        manifest::{Manifest, ManifestEntry},
        policy::CachePolicy,
    },
    database::{
        change_log::{self, Lag},
        epoch::{self, Stamp},
        error::SqliteError,
    },
};

/// Suffix of a file that is being written.
const UNFINISHED_SUFFIX: &str = ".unfinished";

/// The cache of one index: a single file, or a main file and an append file whose segments are compacted into it.
#[derive(Debug, Clone)]
pub(crate) struct IndexCacheFile {
    files: Vec<PathBuf>,
    database: PathBuf,
}

/// The files of a cache, opened; `None` for a file that does not exist.
type OpenFiles = Vec<Option<BufReader<File>>>;

impl IndexCacheFile {
    /// Returns the cache of an index with a single file.
    pub(crate) fn new(database: &Path, index: &str) -> Self {
        Self { files: vec![cache_path(database, index)], database: database.to_owned() }
    }

    /// Returns the cache of an index with a main file and an append file.
    pub(crate) fn with_append_file(database: &Path, index: &str) -> Self {
        let files = vec![cache_path(database, index), cache_path(database, &format!("{index}-fresh"))];
        Self { files, database: database.to_owned() }
    }

    /// Returns a cache that has no files: it is never valid, and never written.
    pub(crate) fn none() -> Self {
        Self { files: Vec::new(), database: PathBuf::new() }
    }

    /// Returns the manifest if the cache is valid: the change log contains all later changes that this transaction
    /// sees.
    pub(crate) fn manifest(&self, connection: &Connection) -> Result<Option<Manifest>, SqliteError> {
        Ok(self.open(connection)?.map(|(manifest, _)| manifest))
    }

    fn open(&self, connection: &Connection) -> Result<Option<(Manifest, OpenFiles)>, SqliteError> {
        if self.files.is_empty() {
            return Ok(None);
        }
        let Some(epoch) = epoch::current(connection)? else { return Ok(None) };
        // The append file is opened first: a segment that is being compacted is then read from both files or from one,
        // but never from none.
        let mut files: OpenFiles = self.files.iter().rev().map(|path| open_reader(path).ok()).collect();
        files.reverse();
        let mut manifest = Manifest::new(epoch);
        for (index, file) in files.iter_mut().enumerate() {
            let Some(file) = file else { continue };
            // A segment that cannot be read ends the manifest.
            let _ = manifest.read(index, file);
        }
        let newest = manifest.newest_change();
        let is_valid = !manifest.entries.is_empty()
            && !matches!(change_log::lag(connection, Some(newest))?, Lag::Unknown { .. })
            && epoch::fingerprint(connection, newest)? == Some(manifest.fingerprint);
        Ok(is_valid.then_some((manifest, files)))
    }

    /// Returns true if there are files, and no state of this database can have written them: they are cut before the
    /// end of the first segment, or belong to another database or epoch. A cache that is only outdated is usable.
    pub(crate) fn is_foreign(&self, connection: &Connection) -> Result<bool, SqliteError> {
        let Some(epoch) = epoch::current(connection)? else { return Ok(false) };
        let mut files: OpenFiles = self.files.iter().map(|path| open_reader(path).ok()).collect();
        if files.iter().all(Option::is_none) {
            return Ok(false);
        }
        let mut manifest = Manifest::new(epoch);
        for (index, file) in files.iter_mut().enumerate() {
            let Some(file) = file else { continue };
            // A segment that cannot be read ends the manifest.
            let _ = manifest.read(index, file);
        }
        let fingerprint = epoch::fingerprint(connection, manifest.newest_change())?;
        let is_of_other_state = fingerprint.is_some_and(|fingerprint| fingerprint != manifest.fingerprint);
        Ok(manifest.entries.is_empty() || is_of_other_state)
    }

    /// Reads the cache. `empty` returns an index with capacity for a number of records, and `extend` adds a segment to
    /// it. Returns the index and the last change that it contains. Removes a damaged cache, and returns `None`.
    pub(crate) fn read<T>(
        &self,
        connection: &Connection,
        empty: impl FnOnce(usize) -> T,
        extend: impl FnMut(&mut T, &mut SegmentReader<'_>) -> io::Result<()>,
    ) -> Result<Option<(T, i64)>, SqliteError> {
        Ok(self.read_unchanged(connection, empty, extend)?.unwrap_or_else(|_| {
            self.remove();
            None
        }))
    }

    /// Reads the cache as [`read`](Self::read) does, but leaves a damaged cache and returns its error.
    pub(crate) fn read_unchanged<T>(
        &self,
        connection: &Connection,
        empty: impl FnOnce(usize) -> T,
        mut extend: impl FnMut(&mut T, &mut SegmentReader<'_>) -> io::Result<()>,
    ) -> Result<io::Result<Option<(T, i64)>>, SqliteError> {
        let Some((manifest, mut files)) = self.open(connection)? else { return Ok(Ok(None)) };
        // A damaged number of records must not allocate more memory than the file has bytes.
        let capacity = manifest.entries.iter().map(|entry| entry.header.records.min(entry.length)).sum::<u64>();
        let mut index = empty(capacity as usize);
        for entry in &manifest.entries {
            let read = match &mut files[entry.file] {
                Some(file) => read_segment(file, entry, manifest.epoch, |input| extend(&mut index, input)),
                None => Err(io::ErrorKind::NotFound.into()),
            };
            if let Err(error) = read {
                return Ok(Err(error));
            }
        }
        Ok(Ok(Some((index, manifest.newest_change()))))
    }

    /// Appends a segment. The transaction must hold the write lock and must have written nothing itself. If the segment
    /// cannot be written, the cache stays as it was.
    pub(crate) fn append(
        &self,
        connection: &Connection,
        manifest: &Manifest,
        header: SegmentHeader,
        body: impl FnOnce(&mut SegmentWriter) -> io::Result<()>,
    ) -> Result<(), SqliteError> {
        let Some(last) = self.files.len().checked_sub(1) else { return Ok(()) };
        self.append_to(last, connection, manifest, header, body)
    }

    /// Moves the segments of the append file to the main file, as one segment. `extend` reads each segment into
    /// `index`, which `body` writes.
    pub(crate) fn compact<T>(
        &self,
        connection: &Connection,
        manifest: &Manifest,
        mut index: T,
        mut extend: impl FnMut(&mut T, &mut SegmentReader<'_>) -> io::Result<()>,
        body: impl FnOnce(T, &mut SegmentWriter) -> io::Result<()>,
    ) -> Result<(), SqliteError> {
        let mut header: Option<SegmentHeader> = None;
        let Some(append_file) = self.files.last() else { return Ok(()) };
        for entry in manifest.appended() {
            let read = open_reader(append_file)
                .and_then(|mut file| read_segment(&mut file, entry, manifest.epoch, |input| extend(&mut index, input)));
            if read.is_err() {
                self.remove();
                return Ok(());
            }
            header = Some(match header {
                None => entry.header,
                Some(sum) => SegmentHeader {
                    base_change: sum.base_change,
                    records: sum.records + entry.header.records,
                    obsolete: sum.obsolete + entry.header.obsolete,
                    ..entry.header
                },
            });
        }
        let Some(header) = header else { return Ok(()) };
        self.append_to(0, connection, manifest, header, |out| body(index, out))?;
        // If this fails, the segments are in both files, and the manifest skips those of the append file.
        let _ = fs::remove_file(append_file);
        Ok(())
    }

    fn append_to(
        &self,
        file: usize,
        connection: &Connection,
        manifest: &Manifest,
        header: SegmentHeader,
        body: impl FnOnce(&mut SegmentWriter) -> io::Result<()>,
    ) -> Result<(), SqliteError> {
        let Some(fingerprint) = epoch::fingerprint(connection, header.newest_change)? else { return Ok(()) };
        let stamp = Stamp { epoch: manifest.epoch, fingerprint };
        let path = &self.files[file];
        let end = manifest.end(file);
        let write = || {
            let mut file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
            self.copy_permissions(path)?;
            file.set_len(end)?;
            file.seek(SeekFrom::End(0))?;
            format::write_segment(file, end, stamp, header, body).map(drop)
        };
        if write().is_err()
            && let Ok(file) = OpenOptions::new().write(true).open(path)
        {
            let _ = file.set_len(end);
        }
        Ok(())
    }

    /// Starts a new cache that contains the changes up to `newest`, in a transaction that holds the write lock. Returns
    /// `None` if the cache has no files, if the database is empty, or if the file cannot be created.
    pub(crate) fn builder(
        &self,
        connection: &Connection,
        newest: i64,
    ) -> Result<Option<CacheBuilder<'_>>, SqliteError> {
        let Some(main) = self.files.first() else { return Ok(None) };
        let Some(stamp) = epoch::stamp(connection, newest)? else { return Ok(None) };
        let mut path = OsString::from(main);
        path.push(UNFINISHED_SUFFIX);
        let path = PathBuf::from(path);
        let create = || {
            let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path)?;
            self.copy_permissions(&path)?;
            Ok::<_, io::Error>(file)
        };
        let Ok(file) = create() else { return Ok(None) };
        let header = SegmentHeader { newest_change: newest, role: SegmentRole::Listed, ..SegmentHeader::default() };
        Ok(Some(CacheBuilder { cache: self, path, file: Some(file), stamp, header, digests: Vec::new() }))
    }

    /// Copies the permissions of the database to a cache file, so that no other users can read it.
    fn copy_permissions(&self, path: &Path) -> io::Result<()> {
        fs::set_permissions(path, fs::metadata(&self.database)?.permissions())
    }

    fn remove(&self) {
        for file in &self.files {
            let _ = fs::remove_file(file);
        }
    }
}

/// Writes a new cache, which is not visible to readers before it is published.
#[derive(Debug)]
pub(crate) struct CacheBuilder<'c> {
    cache: &'c IndexCacheFile,
    path: PathBuf,
    /// `None` after an error.
    file: Option<File>,
    stamp: Stamp,
    /// Header of the last segment.
    header: SegmentHeader,
    /// Digests of the segments.
    digests: Vec<SegmentDigest>,
}

impl CacheBuilder<'_> {
    /// Writes the next segment. `records` is its number of records, and `last_row` their greatest row.
    pub(crate) fn push_segment(
        &mut self,
        records: usize,
        last_row: i64,
        body: impl FnOnce(&mut SegmentWriter) -> io::Result<()>,
    ) {
        let Some(file) = self.file.take() else { return };
        self.header.records = records as u64;
        self.header.last_row = self.header.last_row.max(last_row);
        if let Ok((file, digest)) = self.write(file, body) {
            self.digests.push(digest);
            self.file = Some(file);
        }
        // The next segment continues this one.
        self.header.base_change = self.header.newest_change;
    }

    /// Writes a segment at the end of the file, and returns its digest.
    fn write(
        &self,
        mut file: File,
        body: impl FnOnce(&mut SegmentWriter) -> io::Result<()>,
    ) -> io::Result<(File, SegmentDigest)> {
        let start = file.seek(SeekFrom::End(0))?;
        let mut file = format::write_segment(file, start, self.stamp, self.header, body)?;
        let end = file.seek(SeekFrom::End(0))?;
        let digest = format::read_digest(&mut file, start, end - start - LENGTH_BYTES)?;
        Ok((file, digest))
    }

    /// Writes the list of the segments, and waits until the file is on the disk.
    fn finish(&mut self) -> io::Result<()> {
        let file = self.file.take().ok_or(io::ErrorKind::Other)?;
        self.header.records = 0;
        self.header.role = SegmentRole::List;
        let (file, _) = self.write(file, |out| out.array(&self.digests))?;
        file.sync_all()
    }

    /// Replaces the old cache by the new one. After an error the old cache stays.
    pub(crate) fn publish(mut self) {
        let is_finished = self.finish().is_ok();
        let [main, others @ ..] = &self.cache.files[..] else { return };
        let is_published = is_finished && fs::rename(&self.path, main).is_ok();
        if is_published && let Some(directory) = main.parent() {
            // Without this, a power failure may undo the renaming: the old cache is then read, or none.
            let _ = File::open(directory).and_then(|directory| directory.sync_all());
        }
        let obsolete: &[PathBuf] = if is_published { others } else { std::slice::from_ref(&self.path) };
        for path in obsolete {
            let _ = fs::remove_file(path);
        }
    }
}

fn cache_path(database: &Path, index: &str) -> PathBuf {
    let mut path = OsString::from(database);
    path.push("-");
    path.push(index);
    path.into()
}

fn open_reader(path: &Path) -> io::Result<BufReader<File>> {
    Ok(BufReader::with_capacity(CachePolicy::DEFAULT.read_buffer_bytes, File::open(path)?))
}

fn read_segment(
    file: &mut BufReader<File>,
    entry: &ManifestEntry,
    epoch: u64,
    extend: impl FnOnce(&mut SegmentReader<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let (mut input, _, _) = format::open_segment(file, entry.start, entry.length, epoch)?;
    extend(&mut input)?;
    input.finish()
}

#[cfg(test)]
mod tests;
