//! A flat index: no graph and no build step. The next search can find an added vector.
//!
//! Reasons: `docs/design/decisions/0005-no-vector-graph.md`.

mod compare;
mod row_table;
mod search;
mod snapshot;

use std::hash::Hash;

use memory_engine_core::{Embedding, EmbeddingSpace, Metric};
use rustc_hash::FxHashMap;

use crate::vectors::Vectors;
use row_table::RowTable;

/// Vectors in contiguous rows, in groups (one for each address). `K` is the key of a vector, `G` that of a group.
///
/// Under [`Metric::Cosine`] vectors are normalised to length one.
///
/// A search among at most 8,000 vectors, or in groups and lists of less than a sixteenth of all vectors, is exact. In a
/// [lean](Self::lean) index it is exact unless a rounding error exceeds seven standard deviations. Other searches under
/// [`Metric::Cosine`] first compare sign bits only, and may miss one in a hundred of the ten nearest.
///
/// A vector of d dimensions takes d · 5⅛ bytes; in a [lean](Self::lean) index of more than 8,000 vectors, d · 1⅛
/// bytes.
#[derive(Debug, Clone)]
pub struct FlatIndex<K, G> {
    dimensions: usize,
    normalize: bool,
    vectors: Vectors,
    keys: Vec<K>,
    memberships: Vec<Membership<G>>,
    rows: RowTable,
    groups: FxHashMap<G, Vec<u32>>,
}

/// The vectors that a search considers.
#[derive(Clone, Copy)]
pub enum SearchSubset<'a, K, G> {
    /// All vectors.
    All,
    /// The vectors of these groups. No group may be listed twice.
    Groups(&'a [G]),
    /// The vectors of these keys, if they exist. No key may be listed twice.
    Keys(&'a [K]),
    /// The vectors whose key passes this check.
    Matching(&'a dyn Fn(&K) -> bool),
}

/// The group of a row.
#[derive(Debug, Clone, Copy)]
struct Membership<G> {
    group: G,
    /// Position in the list of the group's rows.
    position: u32,
}

impl<K: Copy + Ord + Hash, G: Copy + Eq + Hash> FlatIndex<K, G> {
    /// Returns an empty index for a space.
    pub fn new(space: &EmbeddingSpace) -> Self {
        Self::empty(space, false)
    }

    /// Returns an empty index that keeps only codes of its vectors once there are more than 8,000. The few full
    /// vectors that a search needs are [looked up](Self::search_with).
    pub fn lean(space: &EmbeddingSpace) -> Self {
        Self::empty(space, true)
    }

    fn empty(space: &EmbeddingSpace, lean: bool) -> Self {
        let normalize = match space.metric {
            Metric::Cosine => true,
            Metric::Dot => false,
            _ => false,
        };
        Self {
            dimensions: space.dimensions,
            normalize,
            vectors: Vectors::new(space.dimensions, normalize, lean),
            keys: Vec::new(),
            memberships: Vec::new(),
            rows: RowTable::default(),
            groups: FxHashMap::default(),
        }
    }

    /// Number of vectors.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns true if there are no vectors.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Adds a vector, in place of an earlier one of the same key. Returns false, and adds nothing, if the vector has
    /// another number of dimensions.
    pub fn insert(&mut self, key: K, group: G, embedding: Embedding) -> bool {
        if embedding.values().len() != self.dimensions {
            return false;
        }
        self.remove(&key);
        let embedding = self.normalized(embedding);
        let row = self.keys.len() as u32;
        self.vectors.push(embedding.values());
        self.assign(key, group, row);
        true
    }

    /// Removes a vector. Returns true if it existed. The last row takes its place.
    pub fn remove(&mut self, key: &K) -> bool {
        let Some(row) = self.rows.remove(key, &self.keys) else { return false };
        self.remove_row(row as usize);
        true
    }

    /// Removes a row without an entry in `rows`.
    fn remove_row(&mut self, row: usize) {
        self.leave_group(row);
        self.vectors.swap_remove(row);
        let last = self.keys.len() - 1;
        if row != last {
            self.keys[row] = self.keys[last];
            self.memberships[row] = self.memberships[last];
            self.rows.move_row(&self.keys[row], last as u32, row as u32);
            let membership = self.memberships[row];
            if let Some(members) = self.groups.get_mut(&membership.group) {
                members[membership.position as usize] = row as u32;
            }
        }
        self.keys.pop();
        self.memberships.pop();
    }

    fn leave_group(&mut self, row: usize) {
        let membership = self.memberships[row];
        let Some(members) = self.groups.get_mut(&membership.group) else { return };
        members.swap_remove(membership.position as usize);
        if let Some(moved) = members.get(membership.position as usize) {
            self.memberships[*moved as usize].position = membership.position;
        }
        if members.is_empty() {
            self.groups.remove(&membership.group);
        }
    }

    /// Returns the group of a vector, if it exists.
    pub fn group(&self, key: &K) -> Option<G> {
        self.rows.find(key, &self.keys).map(|row| self.memberships[row as usize].group)
    }

    /// Returns the keys of all vectors.
    pub fn all_keys(&self) -> &[K] {
        &self.keys
    }

    /// Returns the keys of the vectors of these groups.
    pub fn keys(&self, groups: &[G]) -> impl Iterator<Item = &K> {
        self.members(groups).map(|row| &self.keys[*row as usize])
    }

    fn members(&self, groups: &[G]) -> impl Iterator<Item = &u32> {
        groups.iter().filter_map(|group| self.groups.get(group)).flatten()
    }

    fn normalized(&self, embedding: Embedding) -> Embedding {
        if self.normalize { embedding.normalized() } else { embedding }
    }

    /// Reserves memory for this many more vectors.
    pub fn reserve(&mut self, vectors: usize) {
        self.vectors.reserve(vectors);
        self.keys.reserve(vectors);
        self.memberships.reserve(vectors);
        self.rows.reserve(vectors, &self.keys);
    }

    /// Builds the sign bits, after the last call of [`extend`](Self::extend).
    pub fn finish_extending(&mut self) {
        self.vectors.ensure_signs();
    }

    /// Assigns a key and a group to a new row. Returns the row that had the key before.
    fn assign(&mut self, key: K, group: G, row: u32) -> Option<u32> {
        self.keys.push(key);
        let members = self.groups.entry(group).or_default();
        self.memberships.push(Membership { group, position: members.len() as u32 });
        members.push(row);
        self.rows.insert(row, &self.keys)
    }

    /// Returns true if all vectors belong to these groups. No group may be listed twice.
    pub fn is_covered_by(&self, groups: &[G]) -> bool {
        let vectors_in_groups: usize = groups.iter().filter_map(|group| self.groups.get(group)).map(Vec::len).sum();
        groups.len() >= self.groups.len() && vectors_in_groups == self.len()
    }
}

#[cfg(test)]
mod tests;
