//! Finds the row of a key.

use std::hash::{BuildHasher, Hash};

use hashbrown::{HashTable, hash_table::Entry};
use rustc_hash::FxBuildHasher;

/// A hash table of row numbers. It has no copies of the keys, so that it takes 6 to 11 bytes for each row, and the
/// table of a large index fits into the cache of the processor.
///
/// The methods take `keys`, where `keys[row]` is the key of that row. It must include every row in the table.
#[derive(Debug, Clone, Default)]
pub(super) struct RowTable(HashTable<u32>);

fn hash<K: Hash>(key: &K) -> u64 {
    FxBuildHasher.hash_one(key)
}

impl RowTable {
    /// Returns the row of a key.
    pub(super) fn find<K: Hash + Eq>(&self, key: &K, keys: &[K]) -> Option<u32> {
        self.0.find(hash(key), |row| keys[*row as usize] == *key).copied()
    }

    /// Adds a row. If the table has a row with an equal key, replaces and returns it.
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

    /// Changes the row of a key, if the table has it.
    pub(super) fn move_row<K: Hash>(&mut self, key: &K, from: u32, to: u32) {
        if let Some(row) = self.0.find_mut(hash(key), |row| *row == from) {
            *row = to;
        }
    }

    /// Reserves memory for this many more rows.
    pub(super) fn reserve<K: Hash>(&mut self, rows: usize, keys: &[K]) {
        self.0.reserve(rows, |row| hash(&keys[*row as usize]));
    }
}
