//! A flat index in a snapshot. Only the codes are written, not the full vectors.

use std::{
    hash::Hash,
    io::{self, Read, Write},
    ops::Range,
};

use memory_engine_core::snapshot::{SnapshotReader, SnapshotWriter};

use super::FlatIndex;

impl<K: Copy + Ord + Hash, G: Copy + Eq + Hash> FlatIndex<K, G> {
    /// Writes the vectors of these rows, and returns their keys. Each key and group is written as four numbers: two of
    /// any size, and two that differ little from those of the row before.
    ///
    /// # Errors
    /// Returns the error of the output.
    pub fn save<W: Write>(
        &self,
        out: &mut SnapshotWriter<W>,
        rows: Range<usize>,
        number: impl Fn(&K, G) -> ([u64; 2], [i64; 2]),
    ) -> io::Result<&[K]> {
        let rows = rows.start.min(self.len())..rows.end.min(self.len());
        self.vectors.save(out, rows.clone())?;
        let keys = &self.keys[rows.clone()];
        let names: Vec<([u64; 2], [i64; 2])> =
            keys.iter().zip(&self.memberships[rows]).map(|(key, home)| number(key, home.group)).collect();
        out.array(&names.iter().map(|(any, _)| *any).collect::<Vec<[u64; 2]>>())?;
        out.deltas(names.iter().map(|(_, [first, _])| *first))?;
        out.deltas(names.iter().map(|(_, [_, second])| *second))?;
        Ok(keys)
    }

    /// Adds the vectors that [`save`](Self::save) wrote of an index of the same space, each in place of an earlier one
    /// of the same key, and returns their keys. The index must be [lean](Self::lean). Use the result only if the
    /// checksum of the snapshot is right.
    ///
    /// # Errors
    /// Returns the error of the input, or `InvalidData`.
    pub fn extend<R: Read>(
        &mut self,
        input: &mut SnapshotReader<R>,
        name: impl Fn([u64; 2], [i64; 2]) -> (K, G),
    ) -> io::Result<Vec<K>> {
        let first = self.len();
        let rows = self.vectors.extend(input)?;
        let names: Vec<[u64; 2]> = input.array()?;
        let firsts = input.deltas()?;
        let seconds = input.deltas()?;
        if [names.len(), firsts.len(), seconds.len()] != [rows; 3] {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut keys = Vec::with_capacity(rows);
        let mut replaced = Vec::new();
        for (((any, first), second), row) in names.into_iter().zip(firsts).zip(seconds).zip(first as u32..) {
            let (key, group) = name(any, [first, second]);
            replaced.extend(self.assign(key, group, row));
            keys.push(key);
        }
        // From the last row on, so that no row is moved that is still to be removed.
        replaced.sort_unstable();
        replaced.into_iter().rev().for_each(|row| self.remove_row(row as usize));
        Ok(keys)
    }
}
