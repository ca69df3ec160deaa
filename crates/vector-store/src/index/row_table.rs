//! Finds the row of a key.

use std::hash::{BuildHasher, Hash};

use hashbrown::{HashTable, hash_table::Entry};
use rustc_hash::FxBuildHasher;

/// A hash table of row numbers. The keys are in the rows only, so that an entry takes 5 bytes: with copies of its keys,
/// the table of a large index would not fit into the cache of the processor.
///
/// `keys` are always those of all rows, in order.
#[derive(Debug, Clone, Default)]
pub(super) struct RowTable(HashTable<u32>);

fn hash<K: Hash>(key: &K) -> u64 {
    FxBuildHasher.hash_one(key)
}

impl RowTable {
    /// Returns the row of a key.
    pub(super) fn row<K: Hash + Eq>(&self, key: &K, keys: &[K]) -> Option<u32> {
        self.0.find(hash(key), |row| keys[*row as usize] == *key).copied()
    }

    /// Adds a row, in place of an earlier one with an equal key. Returns the earlier one.
    pub(super) fn insert<K: Hash + Eq>(&mut self, row: u32, keys: &[K]) -> Option<u32> {
        let key = &keys[row as usize];
        let is_equal = |other: &u32| keys[*other as usize] == *key;
        match self.0.entry(hash(key), is_equal, |other| hash(&keys[*other as usize])) {
            Entry::Occupied(mut earlier) => Some(std::mem::replace(earlier.get_mut(), row)),
            Entry::Vacant(place) => {
                place.insert(row);
                None
            }
        }
    }

    /// Removes the entry of a key, and returns its row.
    pub(super) fn remove<K: Hash + Eq>(&mut self, key: &K, keys: &[K]) -> Option<u32> {
        let entry = self.0.find_entry(hash(key), |row| keys[*row as usize] == *key).ok()?;
        Some(entry.remove().0)
    }

    /// Changes the number of a row with this key.
    pub(super) fn rename<K: Hash>(&mut self, key: &K, from: u32, to: u32) {
        if let Some(row) = self.0.find_mut(hash(key), |row| *row == from) {
            *row = to;
        }
    }

    /// Reserves memory for this many more rows.
    pub(super) fn reserve<K: Hash>(&mut self, rows: usize, keys: &[K]) {
        self.0.reserve(rows, |row| hash(&keys[*row as usize]));
    }
}
