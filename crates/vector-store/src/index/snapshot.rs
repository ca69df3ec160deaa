//! A flat index in a snapshot. Only the codes are written, not the full vectors.

use std::{
    hash::Hash,
    io::{self, Read, Write},
    ops::Range,
};

use memory_engine_core::snapshot::{SnapshotReader, SnapshotWriter};

use super::FlatIndex;

impl<K: Copy + Ord + Hash, G: Copy + Eq + Hash> FlatIndex<K, G> {
    /// Writes the vectors of these rows. `encode` converts a key and its group to five numbers: two arbitrary ones, and
    /// three that differ little from row to row, which are delta-encoded.
    ///
    /// # Errors
    /// Returns the error of the output.
    pub fn save<W: Write>(
        &self,
        out: &mut SnapshotWriter<W>,
        rows: Range<usize>,
        encode: impl Fn(&K, G) -> ([u64; 2], [i64; 3]),
    ) -> io::Result<()> {
        let rows = rows.start.min(self.len())..rows.end.min(self.len());
        self.vectors.save(out, rows.clone())?;
        let keys = &self.keys[rows.clone()];
        let memberships = &self.memberships[rows];
        let encoded: Vec<([u64; 2], [i64; 3])> =
            keys.iter().zip(memberships).map(|(key, membership)| encode(key, membership.group)).collect();
        out.array(&encoded.iter().map(|(arbitrary, _)| *arbitrary).collect::<Vec<[u64; 2]>>())?;
        (0..3).try_for_each(|number| out.deltas(encoded.iter().map(|(_, similar)| similar[number])))
    }

    /// Reads vectors that [`save`](Self::save) has written from an index of the same space. A vector replaces an
    /// earlier one of the same key. `decode` is the inverse of `encode`. The index must be [lean](Self::lean). Use the
    /// result only if the checksum of the snapshot is right.
    ///
    /// # Errors
    /// Returns the error of the input, or `InvalidData`.
    pub fn extend<R: Read>(
        &mut self,
        input: &mut SnapshotReader<R>,
        decode: impl Fn([u64; 2], [i64; 3]) -> (K, G),
    ) -> io::Result<()> {
        let first_row = self.len();
        let rows = self.vectors.extend(input)?;
        let arbitrary: Vec<[u64; 2]> = input.array()?;
        let similar = [input.deltas()?, input.deltas()?, input.deltas()?];
        if arbitrary.len() != rows || similar.iter().any(|numbers| numbers.len() != rows) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut replaced = Vec::new();
        for (index, arbitrary) in arbitrary.into_iter().enumerate() {
            let (key, group) = decode(arbitrary, [0, 1, 2].map(|number| similar[number][index]));
            replaced.extend(self.assign(key, group, (first_row + index) as u32));
        }
        // In descending order: a removal moves the last row, which must not be one that is removed later.
        replaced.sort_unstable();
        replaced.into_iter().rev().for_each(|row| self.remove_row(row as usize));
        Ok(())
    }
}
