//! A flat index in a snapshot. Only the codes are written, not the full vectors.

use std::{
    hash::Hash,
    io::{self, Read, Write},
    ops::Range,
};

use memory_engine_core::snapshot::{SnapshotReader, SnapshotWriter};

use super::FlatIndex;

impl<K: Copy + Ord + Hash, G: Copy + Eq + Hash> FlatIndex<K, G> {
    /// Writes the vectors of these rows, and returns their keys. `encode` converts a key and its group to four numbers:
    /// two arbitrary ones, and two that differ little from row to row, which are delta-encoded.
    ///
    /// # Errors
    /// Returns the error of the output.
    pub fn save<W: Write>(
        &self,
        out: &mut SnapshotWriter<W>,
        rows: Range<usize>,
        encode: impl Fn(&K, G) -> ([u64; 2], [i64; 2]),
    ) -> io::Result<&[K]> {
        let rows = rows.start.min(self.len())..rows.end.min(self.len());
        self.vectors.save(out, rows.clone())?;
        let keys = &self.keys[rows.clone()];
        let memberships = &self.memberships[rows];
        let encoded: Vec<([u64; 2], [i64; 2])> =
            keys.iter().zip(memberships).map(|(key, membership)| encode(key, membership.group)).collect();
        out.array(&encoded.iter().map(|(arbitrary, _)| *arbitrary).collect::<Vec<[u64; 2]>>())?;
        out.deltas(encoded.iter().map(|(_, [first, _])| *first))?;
        out.deltas(encoded.iter().map(|(_, [_, second])| *second))?;
        Ok(keys)
    }

    /// Reads vectors that [`save`](Self::save) has written from an index of the same space, and returns their keys. A
    /// vector replaces an earlier one of the same key. `decode` is the inverse of `encode`. The index must be
    /// [lean](Self::lean). Use the result only if the checksum of the snapshot is right.
    ///
    /// # Errors
    /// Returns the error of the input, or `InvalidData`.
    pub fn extend<R: Read>(
        &mut self,
        input: &mut SnapshotReader<R>,
        decode: impl Fn([u64; 2], [i64; 2]) -> (K, G),
    ) -> io::Result<Vec<K>> {
        let first_row = self.len();
        let rows = self.vectors.extend(input)?;
        let arbitrary: Vec<[u64; 2]> = input.array()?;
        let firsts = input.deltas()?;
        let seconds = input.deltas()?;
        if [arbitrary.len(), firsts.len(), seconds.len()] != [rows; 3] {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut keys = Vec::with_capacity(rows);
        let mut replaced = Vec::new();
        let encoded = arbitrary.into_iter().zip(firsts.into_iter().zip(seconds));
        for ((arbitrary, (first, second)), row) in encoded.zip(first_row as u32..) {
            let (key, group) = decode(arbitrary, [first, second]);
            replaced.extend(self.assign(key, group, row));
            keys.push(key);
        }
        // In descending order: a removal moves the last row, which must not be one that is removed later.
        replaced.sort_unstable();
        replaced.into_iter().rev().for_each(|row| self.remove_row(row as usize));
        Ok(keys)
    }
}
