//! The valid segments of a cache, read from the headers in its files.

use std::{fs::File, io, io::BufReader};

use crate::{
    cache::format::{self, LENGTH_BYTES, SegmentDigest, SegmentHeader, SegmentRole},
    database::epoch::Stamp,
};

/// The segments of a cache, each of which continues the one before.
#[derive(Debug)]
pub(crate) struct Manifest {
    pub(crate) entries: Vec<ManifestEntry>,
    pub(crate) epoch: u64,
    /// Fingerprint of the last segment.
    pub(crate) fingerprint: u128,
    /// The end of the valid segments of each file.
    ends: Vec<u64>,
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

impl Manifest {
    /// Returns a manifest without segments.
    pub(crate) fn new(epoch: u64) -> Self {
        Self { entries: Vec::new(), epoch, fingerprint: 0, ends: Vec::new() }
    }

    /// Adds the segments of a file that continue the manifest. Stops at the first segment that is incomplete or does
    /// not continue it. The segments of a rebuilt cache are added together, when the list segment after them is read.
    /// If the file ends before the list, none of them are added.
    ///
    /// # Errors
    /// Returns the number of records in all segments, replaced ones included.
    pub(crate) fn records(&self) -> u64 {
        self.entries.iter().map(|entry| entry.header.records).sum()
    }

    /// Returns the error of the file, or `InvalidData` for a segment of another epoch or format. The segments before
    /// it stay.
    pub(crate) fn read(&mut self, index: usize, file: &mut BufReader<File>) -> io::Result<()> {
        self.ends.resize(self.ends.len().max(index + 1), 0);
        let file_length = file.get_ref().metadata()?.len();
        let mut start = 0;
        let mut listed: Vec<(ManifestEntry, SegmentDigest)> = Vec::new();
        while let Some(length) = format::read_length(file, start, file_length)? {
            let (mut input, header, stamp) = format::open_segment(file, start, length, self.epoch)?;
            let end = start + LENGTH_BYTES + length;
            let entry = ManifestEntry { file: index, start, length, header };
            match header.role {
                SegmentRole::Listed => listed.push((entry, format::read_digest(file, start, length)?)),
                SegmentRole::List => {
                    let digests: Vec<SegmentDigest> = input.array()?;
                    input.finish()?;
                    let is_complete = listed.iter().map(|(_, digest)| digest).eq(&digests);
                    if !is_complete || !self.entries.is_empty() {
                        break;
                    }
                    self.entries.extend(listed.drain(..).map(|(entry, _)| entry));
                    self.accept(index, end, stamp);
                }
                SegmentRole::Appended => {
                    // After a crash during compaction, the append file can still contain segments that were merged
                    // into the rebuilt file. They are skipped.
                    let newest = self.newest_change();
                    let is_new = header.newest_change > newest || header.base_change == newest;
                    if self.entries.is_empty() || is_new {
                        if header.base_change > newest || !listed.is_empty() {
                            break;
                        }
                        self.entries.push(entry);
                        self.accept(index, end, stamp);
                    }
                }
            }
            start = end;
        }
        Ok(())
    }

    /// Records that the segments of a file are valid up to `end`.
    fn accept(&mut self, file: usize, end: u64, stamp: Stamp) {
        self.ends[file] = end;
        self.fingerprint = stamp.fingerprint;
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
        self.ends.get(file).copied().unwrap_or(0)
    }
}
