//! A flat index: no graph, nothing to build. What is added is found at once.

use std::{
    cmp::Ordering,
    convert::Infallible,
    hash::Hash,
    io::{self, Read, Write},
    ops::Range,
};

use memory_engine_core::{
    Embedding, EmbeddingSpace, Metric, Score,
    snapshot::{SnapshotReader, SnapshotWriter},
};
use rustc_hash::FxHashMap;

use crate::{
    kernel::{self, Kernel, Rows},
    vectors::{Nearest, Vectors},
};

/// Vectors in contiguous rows, in groups (one for each address). `K` names a vector, `G` a group.
///
/// Under [`Metric::Cosine`] vectors are kept with length one. Up to 8,000 vectors, and in groups and lists of any size, a
/// search gives what looking at every number gives (a [lean](Self::lean) index: but for what rounding is off by more than seven
/// standard deviations). Of more it first looks at their signs alone and may miss one of a hundred
/// among the ten nearest. One vector of d dimensions takes d · 5⅛ bytes; in a [lean](Self::lean) index of more than 20,000,
/// d · 1⅛.
#[derive(Debug, Clone)]
pub struct FlatIndex<K, G> {
    dimensions: usize,
    normalize: bool,
    vectors: Vectors,
    keys: Vec<K>,
    homes: Vec<Home<G>>,
    rows: FxHashMap<K, u32>,
    groups: FxHashMap<G, Vec<u32>>,
}

/// What a search looks at.
#[derive(Debug, Clone, Copy)]
pub enum Among<'a, K, G> {
    /// All there is.
    Everything,
    /// These groups, each named once.
    Groups(&'a [G]),
    /// These vectors, as far as they are there, each named once.
    Keys(&'a [K]),
}

#[derive(Debug, Clone, Copy)]
struct Home<G> {
    group: G,
    place: u32,
}

impl<K: Copy + Ord + Hash, G: Copy + Eq + Hash> FlatIndex<K, G> {
    /// An empty index for a space.
    pub fn new(space: &EmbeddingSpace) -> Self {
        Self::empty(space, false)
    }

    /// An empty index that keeps no vector as it is when there are more than 20,000: the few that a search has to look at are
    /// [looked up](Self::search_with).
    pub fn lean(space: &EmbeddingSpace) -> Self {
        Self::empty(space, true)
    }

    fn empty(space: &EmbeddingSpace, lean: bool) -> Self {
        let normalize = match space.metric {
            Metric::Cosine => true,
            Metric::Dot | _ => false,
        };
        Self {
            dimensions: space.dimensions,
            normalize,
            vectors: Vectors::new(space.dimensions, normalize, lean),
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
        let embedding = self.normalized(embedding);
        let row = self.keys.len() as u32;
        self.vectors.push(embedding.values());
        self.enlist(key, group, row);
        true
    }

    /// Removes a vector; whether it was there. The last row takes its place.
    pub fn remove(&mut self, key: &K) -> bool {
        let Some(row) = self.rows.remove(key) else { return false };
        self.remove_row(row as usize);
        true
    }

    /// Removes a row that no key leads to any more.
    fn remove_row(&mut self, row: usize) {
        self.leave_group(row);
        self.vectors.swap_remove(row);
        let last = self.keys.len() - 1;
        if row != last {
            self.keys[row] = self.keys[last];
            self.homes[row] = self.homes[last];
            self.rows.insert(self.keys[row], row as u32);
            let home = self.homes[row];
            if let Some(members) = self.groups.get_mut(&home.group) {
                members[home.place as usize] = row as u32;
            }
        }
        self.keys.pop();
        self.homes.pop();
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

    /// The group of a vector, if it is there.
    pub fn group(&self, key: &K) -> Option<G> {
        self.rows.get(key).map(|row| self.homes[*row as usize].group)
    }

    /// The vectors of these groups.
    pub fn keys(&self, groups: &[G]) -> impl Iterator<Item = &K> {
        self.members(groups).map(|row| &self.keys[*row as usize])
    }

    fn members(&self, groups: &[G]) -> impl Iterator<Item = &u32> {
        groups.iter().filter_map(|group| self.groups.get(group)).flatten()
    }

    /// The `limit` nearest to the query: best first, equal ones by key. A query of another length finds nothing. A
    /// [lean](Self::lean) index is to be asked with [`search_with`](Self::search_with).
    pub fn search(&self, query: &Embedding, among: Among<'_, K, G>, limit: usize) -> Vec<(K, Score)> {
        let nothing = |_: &K| Ok::<_, Infallible>(None);
        self.search_with(query, among, limit, nothing).unwrap_or_else(|never| match never {})
    }

    /// The same, with vectors looked up that are not kept as they are: the best twenty or so. Those behind them are given by their
    /// codes. One that is not there is left out.
    ///
    /// # Errors
    /// The first one of `look_up`.
    pub fn search_with<E>(
        &self,
        query: &Embedding,
        among: Among<'_, K, G>,
        limit: usize,
        mut look_up: impl FnMut(&K) -> Result<Option<Embedding>, E>,
    ) -> Result<Vec<(K, Score)>, E> {
        if query.values().len() != self.dimensions || limit == 0 {
            return Ok(Vec::new());
        }
        let list: Vec<u32>;
        let rows = match among {
            Among::Everything => Rows::First(self.len()),
            Among::Groups(groups) if self.holds_only(groups) => Rows::First(self.len()),
            Among::Groups(groups) => {
                list = self.members(groups).copied().collect();
                Rows::Of(&list)
            }
            Among::Keys(keys) => {
                list = keys.iter().filter_map(|key| self.rows.get(key).copied()).collect();
                Rows::Of(&list)
            }
        };
        let query = self.normalized(query.clone());
        let products = match self.vectors.nearest(query.values(), rows, limit) {
            Nearest::Known(known) => known,
            Nearest::Rows(rows, others) => {
                let mut products = others;
                products.reserve(rows.len());
                for row in rows {
                    let embedding = look_up(&self.keys[row as usize])?.map(|embedding| self.normalized(embedding));
                    let Some(embedding) = embedding.filter(|found| found.values().len() == self.dimensions) else {
                        continue;
                    };
                    let mut product = Vec::with_capacity(1);
                    kernel::products(
                        Kernel::detect(),
                        query.values(),
                        embedding.values(),
                        Rows::First(1),
                        &mut product,
                    );
                    products.extend(product.first().map(|product| (row, *product)));
                }
                products
            }
        };
        let mut found: Vec<Found<K>> = products
            .into_iter()
            .map(|(row, product)| Found { score: Score::new(f64::from(product)), key: self.keys[row as usize] })
            .collect();
        if found.len() > limit {
            found.select_nth_unstable(limit - 1);
            found.truncate(limit);
        }
        found.sort_unstable();
        Ok(found.into_iter().map(|found| (found.key, found.score)).collect())
    }

    fn normalized(&self, embedding: Embedding) -> Embedding {
        if self.normalize { embedding.normalized() } else { embedding }
    }

    /// Writes these of its vectors as codes, in the order in which they lie, each key and group as numbers: two of any size and
    /// two that differ little from those of the vector before. Gives the keys.
    ///
    /// # Errors
    /// Those of the output.
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
            keys.iter().zip(&self.homes[rows]).map(|(key, home)| number(key, home.group)).collect();
        out.array(&names.iter().map(|(any, _)| *any).collect::<Vec<[u64; 2]>>())?;
        out.deltas(names.iter().map(|(_, [first, _])| *first))?;
        out.deltas(names.iter().map(|(_, [_, second])| *second))?;
        Ok(keys)
    }

    /// Takes in what [`save`](Self::save) has written of an index of the same space, each in place of an earlier one of the same
    /// key, and gives the keys. Into a [lean](Self::lean) index; it is to be used only when the snapshot turns out to be whole.
    ///
    /// # Errors
    /// Those of the input.
    pub fn extend<R: Read>(
        &mut self,
        input: &mut SnapshotReader<R>,
        name: impl Fn([u64; 2], [i64; 2]) -> (K, G),
    ) -> io::Result<Vec<K>> {
        let first = self.len();
        let rows = self.vectors.extend(input)?;
        let names: Vec<[u64; 2]> = input.array()?;
        let (firsts, seconds) = (input.deltas()?, input.deltas()?);
        if [names.len(), firsts.len(), seconds.len()] != [rows; 3] {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut keys = Vec::with_capacity(rows);
        let mut replaced = Vec::new();
        for (((any, first), second), row) in names.into_iter().zip(firsts).zip(seconds).zip(first as u32..) {
            let (key, group) = name(any, [first, second]);
            replaced.extend(self.enlist(key, group, row));
            keys.push(key);
        }
        // From the last one on, so that none is moved that is still to go.
        replaced.sort_unstable();
        replaced.into_iter().rev().for_each(|row| self.remove_row(row as usize));
        Ok(keys)
    }

    /// Makes room for so many vectors more that are [taken in](Self::extend).
    pub fn reserve(&mut self, vectors: usize) {
        self.vectors.reserve(vectors);
        self.keys.reserve(vectors);
        self.homes.reserve(vectors);
        self.rows.reserve(vectors);
    }

    /// Makes searching quick after all was [taken in](Self::extend).
    pub fn settle(&mut self) {
        self.vectors.settle();
    }

    /// Gives a row its names; the row that bore the key before.
    fn enlist(&mut self, key: K, group: G, row: u32) -> Option<u32> {
        self.keys.push(key);
        let members = self.groups.entry(group).or_default();
        self.homes.push(Home { group, place: members.len() as u32 });
        members.push(row);
        self.rows.insert(key, row)
    }

    /// Whether all its vectors are of these groups, each named once.
    pub fn holds_only(&self, groups: &[G]) -> bool {
        let held = groups.iter().filter_map(|group| self.groups.get(group)).map(Vec::len).sum::<usize>();
        groups.len() >= self.groups.len() && held == self.len()
    }
}

/// Ordered so that the better one is smaller.
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
            let mut index = FlatIndex::new(&space());
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
            let everything = index.search(&query, Among::Everything, 50);
            prop_assert_eq!(&everything, &index.search(&query, Among::Groups(&[0, 1, 2]), 50));
            prop_assert_eq!(everything.len(), plain.len());
            for wanted in 0..3_u8 {
                let found = {
                    let even: Vec<u8> = index.keys(&[wanted]).copied().filter(|key| key % 2 == 0).collect();
                    index.search(&query, Among::Keys(&even), 5)
                };
                let mut expected: Vec<u8> = plain.iter().filter(|(k, (g, _))| *g == wanted && *k % 2 == 0).map(|(k, _)| *k).collect();
                expected.sort_by(|a, b| plain[b].1.cos().total_cmp(&plain[a].1.cos()));
                expected.truncate(5);
                prop_assert_eq!(found.iter().map(|(k, _)| *k).collect::<Vec<_>>(), expected);
                let whole = index.search(&query, Among::Groups(&[wanted]), 50);
                prop_assert_eq!(whole.len(), plain.values().filter(|(g, _)| *g == wanted).count());
            }
        }
    }

    proptest! {
        /// Written in parts and read again, in whatever order keys come back: the same is found, by codes as by numbers.
        #[test]
        fn what_was_written_in_parts_and_read_is_the_same(
            steps in proptest::collection::vec((0_u8..30, 0_u8..3, -1.0_f32..1.0), 1..80), part in 1_usize..20,
        ) {
            let mut written = FlatIndex::lean(&space());
            let mut read: FlatIndex<u8, u8> = FlatIndex::lean(&space());
            let embedding = |angle: f32| Embedding::new(vec![angle.cos(), angle.sin()]).unwrap();
            let mut vectors = BTreeMap::new();
            for steps in steps.chunks(part) {
                let mut fresh = FlatIndex::lean(&space());
                for (key, group, angle) in steps {
                    fresh.insert(*key, *group, embedding(*angle));
                    written.insert(*key, *group, embedding(*angle));
                    vectors.insert(*key, embedding(*angle));
                }
                for from in (0..fresh.len()).step_by(7) {
                    let mut out = SnapshotWriter::new(Vec::new()).unwrap();
                    fresh.save(&mut out, from..from + 7, |key, group| ([u64::from(*key), 0], [i64::from(group), 0])).unwrap();
                    let bytes = out.finish().unwrap();
                    let mut input = SnapshotReader::new(&bytes[..], bytes.len() as u64).unwrap();
                    let name = |[key, _]: [u64; 2], [group, _]: [i64; 2]| (key as u8, group as u8);
                    let keys = read.extend(&mut input, name).unwrap();
                    input.finish().unwrap();
                    prop_assert_eq!(keys, fresh.keys[from..(from + 7).min(fresh.len())].to_vec());
                }
            }
            read.settle();
            prop_assert_eq!(read.len(), written.len());
            for groups in [&[0_u8, 1, 2][..], &[1], &[0, 2]] {
                let look_up = |key: &u8| Ok::<_, Infallible>(vectors.get(key).cloned());
                let found = read.search_with(&embedding(0.2), Among::Groups(groups), 20, look_up).unwrap();
                prop_assert_eq!(found, written.search(&embedding(0.2), Among::Groups(groups), 20));
            }
        }
    }

    #[test]
    fn a_vector_of_another_length_is_left_out() {
        let mut index = FlatIndex::new(&space());
        assert!(!index.insert(1, 0, Embedding::new(vec![1.0; 3]).unwrap()));
        assert!(index.is_empty());
    }
}
