//! The vectors of one embedding version, in memory.

use std::{
    cmp::Ordering,
    hash::{Hash, Hasher},
    io,
    ops::Range,
    sync::OnceLock,
};

use memory_engine_core::{EmbeddingSpace, RecordId};
use memory_engine_vector_store::FlatIndex;
use rustc_hash::FxHashSet;

use crate::{
    cache::{
        format::{SegmentReader, SegmentWriter},
        timeline::{Timeline, TimelineWindow},
    },
    vectors::vector_rows::StoredVector,
};
use memory_engine_sql::embedding_versions::VectorTable;

/// Vectors, and the last change of the database that they contain.
#[derive(Debug)]
pub(in crate::cache) struct LoadedVectors {
    pub(in crate::cache) index: FlatIndex<VectorKey, i64>,
    /// The timeline of the vectors; empty until a search has a time window.
    timeline: OnceLock<Timeline>,
    /// The table from which the vectors were read.
    pub(super) table: VectorTable,
    /// The last change that the vectors contain; `None` before they were read.
    pub(super) newest_change: Option<i64>,
}

/// The key of a vector. The row identifies it; the id orders hits with equal scores. Two users may have a record with
/// the same id.
#[derive(Debug, Clone, Copy)]
pub(in crate::cache) struct VectorKey {
    pub(super) id: RecordId,
    pub(super) row: i64,
    /// The time at which the record occurred, in microseconds.
    occurred_at: i64,
}

impl VectorKey {
    /// Returns a key that equals the key of this row. Its id and time are not used.
    pub(super) fn of_row(row: i64) -> Self {
        Self { id: RecordId::from_bytes([0; 16]), row, occurred_at: 0 }
    }

    fn time_of_row(&self) -> (i64, i64) {
        (self.row, self.occurred_at)
    }
}

impl PartialEq for VectorKey {
    fn eq(&self, other: &Self) -> bool {
        self.row == other.row
    }
}

impl Eq for VectorKey {}

impl Hash for VectorKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.row.hash(state);
    }
}

impl Ord for VectorKey {
    fn cmp(&self, other: &Self) -> Ordering {
        if self == other { Ordering::Equal } else { (self.id, self.row).cmp(&(other.id, other.row)) }
    }
}

impl PartialOrd for VectorKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl LoadedVectors {
    /// Returns an index without vectors.
    pub(in crate::cache) fn empty(space: &EmbeddingSpace, table: VectorTable) -> Self {
        Self { index: FlatIndex::lean(space), timeline: OnceLock::new(), table, newest_change: None }
    }

    /// Returns an index without vectors, and reserves memory for this many.
    pub(in crate::cache) fn with_capacity(space: &EmbeddingSpace, table: VectorTable, records: usize) -> Self {
        let mut empty = Self::empty(space, table);
        empty.index.reserve(records);
        empty
    }

    /// Returns the last change that the vectors of a table contain. `None` if they were read from the other table: an
    /// embedding version that was dropped and started again may be in either.
    pub(super) fn newest_change_of(&self, table: VectorTable) -> Option<i64> {
        self.newest_change.filter(|_| self.table == table)
    }

    /// Returns the greatest row; 0 if there is none.
    pub(super) fn last_row(&self) -> i64 {
        self.index.all_keys().iter().map(|key| key.row).max().unwrap_or_default()
    }

    /// Sorts the timeline if many of its entries are unsorted or outdated.
    pub(super) fn sort_timeline_if_due(&mut self) {
        if let Some(timeline) = self.timeline.get_mut() {
            timeline.sort_if_due();
        }
    }

    /// Removes the vector of a row, if there is one.
    pub(in crate::cache) fn remove(&mut self, row: i64) {
        if self.index.remove(&VectorKey::of_row(row))
            && let Some(timeline) = self.timeline.get_mut()
        {
            timeline.remove(row);
        }
    }

    /// Adds a vector, in place of an earlier one of the same row.
    pub(in crate::cache) fn insert(&mut self, vector: StoredVector) {
        let key = VectorKey { id: vector.id, row: vector.row, occurred_at: vector.occurred_at };
        if self.index.insert(key, vector.scope, vector.embedding)
            && let Some(timeline) = self.timeline.get_mut()
        {
            timeline.insert(vector.row, vector.occurred_at);
        }
    }

    /// Returns keys, which have rows only, of the vectors of records that occurred within a time window, in one of
    /// these groups.
    pub(super) fn keys_in(&self, window: TimelineWindow, groups: &[i64]) -> Vec<VectorKey> {
        let timeline =
            self.timeline.get_or_init(|| Timeline::of(self.index.all_keys().iter().map(VectorKey::time_of_row)));
        let keys = timeline.rows_in(window).map(VectorKey::of_row);
        if self.index.is_covered_by(groups) {
            return keys.collect();
        }
        let groups: FxHashSet<i64> = groups.iter().copied().collect();
        let is_in_groups = |key: &VectorKey| self.index.group(key).is_some_and(|group| groups.contains(&group));
        keys.filter(is_in_groups).collect()
    }

    /// Writes the vectors at these positions of the index as the body of a segment, with the rows of the database whose
    /// vectors in earlier segments are obsolete.
    pub(super) fn save(
        &self,
        space: &EmbeddingSpace,
        obsolete: &[i64],
        rows: Range<usize>,
        out: &mut SegmentWriter,
    ) -> io::Result<()> {
        out.array(space.to_string().as_bytes())?;
        out.array(self.table.name().as_bytes())?;
        out.deltas(obsolete.iter().copied())?;
        let encode = |key: &VectorKey, scope: i64| (key.id.as_u64_pair().into(), [key.row, scope, key.occurred_at]);
        self.index.save(out, rows, encode)
    }

    /// Reads the body of a segment, and adds it.
    ///
    /// # Errors
    /// Returns `Unsupported` for a segment of another space or table.
    pub(in crate::cache) fn extend(&mut self, space: &EmbeddingSpace, input: &mut SegmentReader<'_>) -> io::Result<()> {
        let segment_space = input.array::<u8>()?;
        let segment_table = input.array::<u8>()?;
        if segment_space != space.to_string().as_bytes() || segment_table != self.table.name().as_bytes() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        input.deltas()?.into_iter().for_each(|row| self.remove(row));
        let decode = |[high, low]: [u64; 2], [row, scope, occurred_at]: [i64; 3]| {
            (VectorKey { id: RecordId::from_u64_pair(high, low), row, occurred_at }, scope)
        };
        self.timeline.take();
        self.index.extend(input, decode)
    }
}
