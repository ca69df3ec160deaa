//! An exact index: every vector of the searched groups is looked at, so that nothing is ever missed.

use std::{cmp::Ordering, collections::BinaryHeap, hash::Hash};

use memory_core::{Embedding, EmbeddingSpace, Metric, Score};
use rustc_hash::FxHashMap;

use crate::kernel;

/// Vectors in one block of memory, in groups (one for each address), found by an exact scan of the groups that are
/// asked for. `K` names a vector, `G` a group.
///
/// Under [`Metric::Cosine`] vectors are kept with length one. A search over n vectors of d dimensions costs n·d
/// multiplications, and one vector d·4 bytes.
#[derive(Debug, Clone)]
pub struct ExactIndex<K, G> {
    dimensions: usize,
    normalize: bool,
    values: Vec<f32>,
    keys: Vec<K>,
    homes: Vec<Home<G>>,
    rows: FxHashMap<K, u32>,
    groups: FxHashMap<G, Vec<u32>>,
}

#[derive(Debug, Clone, Copy)]
struct Home<G> {
    group: G,
    place: u32,
}

impl<K: Copy + Ord + Hash, G: Copy + Eq + Hash> ExactIndex<K, G> {
    /// An empty index for a space.
    pub fn new(space: &EmbeddingSpace) -> Self {
        let normalize = match space.metric {
            Metric::Cosine => true,
            Metric::Dot | _ => false,
        };
        Self {
            dimensions: space.dimensions,
            normalize,
            values: Vec::new(),
            keys: Vec::new(),
            homes: Vec::new(),
            rows: FxHashMap::default(),
            groups: FxHashMap::default(),
        }
    }

    /// How many vectors it holds.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Keeps a vector, in place of an earlier one of the same key. One of another length is left out and gives `false`.
    pub fn insert(&mut self, key: K, group: G, embedding: Embedding) -> bool {
        if embedding.values().len() != self.dimensions {
            return false;
        }
        self.remove(&key);
        let embedding = if self.normalize { embedding.normalized() } else { embedding };
        let row = self.keys.len() as u32;
        self.values.extend_from_slice(embedding.values());
        self.keys.push(key);
        self.rows.insert(key, row);
        let members = self.groups.entry(group).or_default();
        self.homes.push(Home { group, place: members.len() as u32 });
        members.push(row);
        true
    }

    /// Removes a vector; whether it was there. The last row takes its place.
    pub fn remove(&mut self, key: &K) -> bool {
        let Some(row) = self.rows.remove(key).map(|row| row as usize) else { return false };
        self.leave_group(row);
        let last = self.keys.len() - 1;
        if row != last {
            let (from, to) = (last * self.dimensions, row * self.dimensions);
            self.values.copy_within(from..from + self.dimensions, to);
            self.keys[row] = self.keys[last];
            self.homes[row] = self.homes[last];
            self.rows.insert(self.keys[row], row as u32);
            let home = self.homes[row];
            if let Some(members) = self.groups.get_mut(&home.group) {
                members[home.place as usize] = row as u32;
            }
        }
        self.values.truncate(last * self.dimensions);
        self.keys.pop();
        self.homes.pop();
        true
    }

    fn leave_group(&mut self, row: usize) {
        let home = self.homes[row];
        let Some(members) = self.groups.get_mut(&home.group) else { return };
        members.swap_remove(home.place as usize);
        if let Some(moved) = members.get(home.place as usize) {
            self.homes[*moved as usize].place = home.place;
        }
        if members.is_empty() {
            self.groups.remove(&home.group);
        }
    }

    /// The `limit` vectors of these groups that are nearest to the query and that `admit` lets pass: best first, equal
    /// ones by key. A query of another length finds nothing.
    pub fn search(
        &self,
        query: &Embedding,
        groups: impl IntoIterator<Item = G>,
        limit: usize,
        admit: impl Fn(&K) -> bool,
    ) -> Vec<(K, Score)> {
        if query.values().len() != self.dimensions || limit == 0 {
            return Vec::new();
        }
        let query = if self.normalize { query.clone().normalized() } else { query.clone() };
        let mut best = BinaryHeap::new();
        for row in groups.into_iter().filter_map(|group| self.groups.get(&group)).flatten() {
            let row = *row as usize;
            let key = self.keys[row];
            if !admit(&key) {
                continue;
            }
            let values = &self.values[row * self.dimensions..(row + 1) * self.dimensions];
            let found = Found { score: Score::new(f64::from(kernel::dot(query.values(), values))), key };
            if best.len() < limit {
                best.push(found);
            } else if best.peek().is_some_and(|worst| found < *worst) {
                best.pop();
                best.push(found);
            }
        }
        best.into_sorted_vec().into_iter().map(|found| (found.key, found.score)).collect()
    }
}

/// Ordered so that the better one is smaller: the heap then keeps the worst on top.
#[derive(PartialEq, Eq)]
struct Found<K> {
    score: Score,
    key: K,
}

impl<K: Ord> Ord for Found<K> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.score.cmp(&self.score).then_with(|| self.key.cmp(&other.key))
    }
}

impl<K: Ord> PartialOrd for Found<K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn space() -> EmbeddingSpace {
        EmbeddingSpace::cosine("test", 2)
    }

    proptest! {
        /// Any mixture of inserts and removals leaves what a plain map holds.
        #[test]
        fn agrees_with_a_plain_map(steps in proptest::collection::vec((0_u8..12, 0_u8..3, any::<bool>()), 0..80)) {
            let mut index = ExactIndex::new(&space());
            let mut plain = BTreeMap::new();
            for (key, group, insert) in steps {
                if insert {
                    let angle = f32::from(key) / 10.0 + f32::from(group);
                    index.insert(key, group, Embedding::new(vec![angle.cos(), angle.sin()]).unwrap());
                    plain.insert(key, (group, angle));
                } else {
                    prop_assert_eq!(index.remove(&key), plain.remove(&key).is_some());
                }
            }
            prop_assert_eq!(index.len(), plain.len());
            let query = Embedding::new(vec![1.0, 0.0]).unwrap();
            for wanted in 0..3_u8 {
                let found = index.search(&query, [wanted], 5, |key| key % 2 == 0);
                let mut expected: Vec<u8> = plain.iter().filter(|(k, (g, _))| *g == wanted && *k % 2 == 0).map(|(k, _)| *k).collect();
                expected.sort_by(|a, b| plain[b].1.cos().total_cmp(&plain[a].1.cos()));
                expected.truncate(5);
                prop_assert_eq!(found.iter().map(|(k, _)| *k).collect::<Vec<_>>(), expected);
            }
        }
    }

    #[test]
    fn a_vector_of_another_length_is_left_out() {
        let mut index = ExactIndex::new(&space());
        assert!(!index.insert(1, 0, Embedding::new(vec![1.0; 3]).unwrap()));
        assert!(index.is_empty());
    }
}
