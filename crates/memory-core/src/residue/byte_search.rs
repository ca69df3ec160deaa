//! Searches bytes for many needles at once.

use std::io::{self, Read};

use crate::id::RecordId;

/// Length of the part of a needle that is looked up, in bytes. It is the minimum length of a needle.
const PREFIX_BYTES: usize = 16;
/// Maximum length of a needle, in bytes: the textual form of an id.
const MAX_NEEDLE_BYTES: usize = 36;
/// Number of bits of the filter for each needle.
const FILTER_BITS_PER_NEEDLE: usize = 128;
/// Limits of the number of bits of the filter.
const FILTER_BITS: std::ops::RangeInclusive<usize> = 1 << 16..=1 << 27;
/// Size of the blocks in which a file is read.
const BLOCK_BYTES: usize = 1 << 20;

/// The trace that a needle stands for: the number of a deleted record or of a fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trace {
    /// The id of the record with this number.
    Id(u32),
    /// The fragment with this number.
    Text(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Needle {
    prefix: [u8; PREFIX_BYTES],
    rest: [u8; MAX_NEEDLE_BYTES - PREFIX_BYTES],
    rest_bytes: u8,
    trace: Trace,
}

/// Searches bytes for the ids of records, in binary and textual form, and for fragments of texts.
///
/// Each position costs one hash and one bit of a filter. Only positions that pass the filter are compared.
#[derive(Debug, Default)]
pub struct ByteSearch {
    /// Sorted by prefix.
    needles: Vec<Needle>,
    filter: Vec<u64>,
    shift: u32,
}

impl ByteSearch {
    /// Number of bytes at the end of a block that the next block has to begin with, so that no needle is missed.
    pub const OVERLAP_BYTES: usize = MAX_NEEDLE_BYTES - 1;

    /// Adds the forms of an id: 16 bytes, 32 hexadecimal digits, and 36 characters with hyphens.
    pub(super) fn add_id(&mut self, id: RecordId, number: u32) {
        let with_hyphens = id.to_string();
        self.add(id.as_bytes(), Trace::Id(number));
        self.add(with_hyphens.as_bytes(), Trace::Id(number));
        self.add(with_hyphens.replace('-', "").as_bytes(), Trace::Id(number));
    }

    /// Adds a needle of 16 to 36 bytes. Leaves out others.
    pub(super) fn add(&mut self, needle: &[u8], trace: Trace) {
        let Some((prefix, rest)) = needle.split_first_chunk::<PREFIX_BYTES>() else { return };
        let mut needle = Needle { prefix: *prefix, rest: [0; _], rest_bytes: rest.len() as u8, trace };
        if let Some(place) = needle.rest.get_mut(..rest.len()) {
            place.copy_from_slice(rest);
            self.needles.push(needle);
        }
    }

    /// Builds the filter, after the last needle.
    pub(super) fn build(&mut self) {
        self.needles.sort_unstable();
        self.needles.dedup();
        let wanted = (self.needles.len() * FILTER_BITS_PER_NEEDLE).next_power_of_two();
        let bits = wanted.clamp(*FILTER_BITS.start(), *FILTER_BITS.end());
        self.shift = 64 - bits.trailing_zeros();
        self.filter = vec![0; bits / 64];
        for needle in &self.needles {
            let bit = bit(&needle.prefix, self.shift);
            if let Some(word) = self.filter.get_mut(bit / 64) {
                *word |= 1 << (bit % 64);
            }
        }
    }

    /// Returns true if there is nothing to search for.
    pub fn is_empty(&self) -> bool {
        self.needles.is_empty()
    }

    /// Calls `found` with the trace of each needle in these bytes.
    pub fn search(&self, bytes: &[u8], found: &mut impl FnMut(Trace)) {
        self.search_after(bytes, 0, found);
    }

    /// Searches bytes of which the first `known` have been searched before: leaves out needles within them.
    fn search_after(&self, bytes: &[u8], known: usize, found: &mut impl FnMut(Trace)) {
        if self.is_empty() {
            return;
        }
        for (position, window) in bytes.array_windows::<PREFIX_BYTES>().enumerate() {
            let bit = bit(window, self.shift);
            if self.filter.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1) {
                let rest = bytes.get(position + PREFIX_BYTES..).unwrap_or_default();
                self.compare(window, rest, known.saturating_sub(position), found);
            }
        }
    }

    /// Searches everything that a reader returns. Calls `found` with the trace of each needle. Returns the number of
    /// bytes.
    ///
    /// # Errors
    /// Those of the reader.
    pub fn search_reader(&self, mut reader: impl Read, found: &mut impl FnMut(Trace)) -> io::Result<u64> {
        let mut block = vec![0; BLOCK_BYTES];
        let (mut kept, mut total) = (0, 0);
        loop {
            let count = match reader.read(&mut block[kept..]) {
                Ok(0) => return Ok(total),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            total += count as u64;
            let filled = kept + count;
            // A needle that lies in the kept bytes was found in the block before.
            self.search_after(&block[..filled], kept, found);
            let rest = filled.min(Self::OVERLAP_BYTES);
            block.copy_within(filled - rest..filled, 0);
            kept = rest;
        }
    }

    /// Calls `found` for each needle that begins with `prefix`, continues with `rest` and is longer than `known`.
    #[cold]
    fn compare(&self, prefix: &[u8; PREFIX_BYTES], rest: &[u8], known: usize, found: &mut impl FnMut(Trace)) {
        let first = self.needles.partition_point(|needle| needle.prefix < *prefix);
        let candidates = self.needles.get(first..).unwrap_or_default().iter();
        for needle in candidates.take_while(|needle| needle.prefix == *prefix) {
            let needle_rest = needle.rest.get(..usize::from(needle.rest_bytes)).unwrap_or_default();
            if PREFIX_BYTES + needle_rest.len() > known && rest.starts_with(needle_rest) {
                found(needle.trace);
            }
        }
    }
}

/// Returns the bit of a prefix in the filter: a multiplicative hash of its first eight bytes and its last eight.
fn bit(prefix: &[u8; PREFIX_BYTES], shift: u32) -> usize {
    let number = u128::from_le_bytes(*prefix);
    let folded = number as u64 ^ ((number >> 64) as u64).rotate_left(29);
    (folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> shift) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_an_id_is_found() {
        let ids = [RecordId::new(), RecordId::new()];
        let mut search = ByteSearch::default();
        search.add_id(ids[0], 0);
        search.add_id(ids[1], 1);
        search.build();
        let text = ids[1].to_string();
        let digits = text.replace('-', "");
        let bytes = [b"x".as_slice(), ids[0].as_bytes(), b"[", text.as_bytes(), b"]", digits.as_bytes()];
        let mut bytes = bytes.concat();
        let mut found = Vec::new();
        search.search(&bytes, &mut |trace| found.push(trace));
        assert_eq!(found, [Trace::Id(0), Trace::Id(1), Trace::Id(1)]);
        for changed in [3, 52, 60] {
            bytes[changed] = !bytes[changed];
        }
        search.search(&bytes, &mut |trace| panic!("{trace:?}"));
    }

    #[test]
    fn a_reader_is_searched_across_blocks_and_each_needle_is_found_once() {
        const NEEDLES: [&[u8]; 2] = [b"a fragment of 24 bytes..", b"sixteen bytes ..."];
        let mut search = ByteSearch::default();
        search.add(NEEDLES[0], Trace::Text(0));
        search.add(NEEDLES[1], Trace::Text(1));
        search.build();
        for start in (BLOCK_BYTES - 60..BLOCK_BYTES + 60).step_by(7) {
            let mut bytes = vec![7; BLOCK_BYTES + 200];
            for (needle, start) in NEEDLES.iter().zip([start, start + 30]) {
                bytes[start..start + needle.len()].copy_from_slice(needle);
            }
            let mut found = Vec::new();
            let total = search.search_reader(bytes.as_slice(), &mut |trace| found.push(trace)).unwrap();
            assert_eq!((total, found), (bytes.len() as u64, vec![Trace::Text(0), Trace::Text(1)]), "{start}");
        }
    }
}
