//! The valid segments of a cache, read from the headers in its files.

use std::{fs::File, io, io::BufReader};

use crate::cache::format::{self, LENGTH_BYTES, SegmentHeader};

/// The segments of a cache, each of which continues the one before.
#[derive(Debug)]
pub(crate) struct Manifest {
    pub(crate) entries: Vec<ManifestEntry>,
    pub(crate) epoch: u64,
    /// Fingerprint of the last segment.
    pub(crate) fingerprint: u128,
}

/// The place of a segment in its file, and the changes in it.
#[derive(Debug)]
pub(crate) struct ManifestEntry {
    /// Index of the file.
    pub(crate) file: usize,
    pub(crate) start: u64,
    pub(crate) length: u64,
    pub(crate) header: SegmentHeader,
}

impl ManifestEntry {
    fn end(&self) -> u64 {
        self.start + LENGTH_BYTES + self.length
    }
}

impl Manifest {
    /// Returns a manifest without segments.
    pub(crate) fn new(epoch: u64) -> Self {
        Self { entries: Vec::new(), epoch, fingerprint: 0 }
    }

    /// Adds the segments of a file that continue the manifest. Stops at the first segment that does not continue it or
    /// is not complete.
    ///
    /// # Errors
    /// Returns the error of the file, or `InvalidData` for a segment of another epoch or format. The segments before
    /// it stay.
    pub(crate) fn read(&mut self, index: usize, file: &mut BufReader<File>) -> io::Result<()> {
        let file_length = file.get_ref().metadata()?.len();
        let mut start = 0;
        while let Some(length) = format::read_length(file, start, file_length)? {
            let (_, header, stamp) = format::open_segment(file, start, length, self.epoch)?;
            // After a crash during compaction, the append file still contains segments that were moved. They are
            // skipped.
            let is_new = header.newest_change > self.newest_change() || header.base_change == self.newest_change();
            if self.entries.is_empty() || is_new {
                if header.base_change > self.newest_change() {
                    break;
                }
                self.entries.push(ManifestEntry { file: index, start, length, header });
                self.fingerprint = stamp.fingerprint;
            }
            start += LENGTH_BYTES + length;
        }
        Ok(())
    }

    /// Returns the last change that the cache contains; 0 without segments.
    pub(crate) fn newest_change(&self) -> i64 {
        self.entries.last().map_or(0, |entry| entry.header.newest_change)
    }

    /// Returns the greatest row that the cache may contain.
    pub(crate) fn last_row(&self) -> i64 {
        self.entries.last().map_or(0, |entry| entry.header.last_row)
    }

    /// Returns true if more than half of the cache is obsolete, apart from `slack` records.
    pub(crate) fn needs_compaction(&self, slack: usize) -> bool {
        let records: u64 = self.entries.iter().map(|entry| entry.header.records).sum();
        let obsolete: u64 = self.entries.iter().map(|entry| entry.header.obsolete).sum();
        2 * obsolete > records + slack as u64
    }

    /// Returns the segments of the append file.
    pub(crate) fn appended(&self) -> impl Iterator<Item = &ManifestEntry> {
        self.entries.iter().filter(|entry| entry.file > 0)
    }

    /// Returns the number of records in the append file.
    pub(crate) fn appended_records(&self) -> u64 {
        self.appended().map(|entry| entry.header.records).sum()
    }

    /// Returns the offset of the next segment of a file.
    pub(crate) fn end(&self, file: usize) -> u64 {
        self.entries.iter().filter(|entry| entry.file == file).map(ManifestEntry::end).max().unwrap_or(0)
    }
}
