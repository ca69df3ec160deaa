//! The postings of many documents in memory.

use std::{cmp::Ordering, collections::BinaryHeap, hash::Hash};

use memory_engine_core::{RecordId, Score};
use rustc_hash::{FxHashMap, FxHashSet};
use xxhash_rust::xxh3::xxh3_64;

use crate::{Bm25, Clause, bm25::Rarity};

/// Who holds which term, for adapters over a database: a search reads nothing from the disk then. Documents go by a
/// number, and belong to groups (one for each address). Terms are kept as hashes of 64 bits: no text stays in memory.
///
/// A document that was removed leaves its postings behind, unseen, until there are more such than others.
#[derive(Debug, Clone)]
pub struct Postings<G> {
    terms: FxHashMap<u64, Vec<Posting>>,
    documents: Vec<Document<G>>,
    slots: FxHashMap<i64, u32>,
    sizes: FxHashMap<G, u64>,
}

#[derive(Debug, Clone, Copy)]
struct Posting {
    slot: u32,
    count: u32,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Document<G> {
    pub(crate) id: RecordId,
    pub(crate) number: i64,
    pub(crate) group: G,
    pub(crate) length: u32,
    pub(crate) live: bool,
}

/// A posting by itself: the term's hash, the document's place and the count.
pub(crate) type PackedPosting = (u64, u16, u32);

/// How few documents are not worth clearing away.
const FEW: usize = 1000;

impl<G> Default for Postings<G> {
    fn default() -> Self {
        Self {
            terms: FxHashMap::default(),
            documents: Vec::new(),
            slots: FxHashMap::default(),
            sizes: FxHashMap::default(),
        }
    }
}

impl<G: Copy + Eq + Hash> Postings<G> {
    /// Takes in a document, in place of an earlier one of the same number: its terms, each once, with how often it holds
    /// them, and how many it has in all.
    pub fn insert<'t>(
        &mut self,
        number: i64,
        id: RecordId,
        group: G,
        length: u32,
        terms: impl IntoIterator<Item = (&'t str, u32)>,
    ) {
        self.remove(number);
        let slot = self.documents.len() as u32;
        self.documents.push(Document { id, number, group, length, live: true });
        self.slots.insert(number, slot);
        *self.sizes.entry(group).or_default() += 1;
        for (term, count) in terms {
            self.terms.entry(hash(term)).or_default().push(Posting { slot, count });
        }
    }

    /// Removes a document; whether it was there.
    pub fn remove(&mut self, number: i64) -> bool {
        self.remove_and_tell(number).is_some()
    }

    /// Removes a document, and tells the group that it belonged to.
    pub(crate) fn remove_and_tell(&mut self, number: i64) -> Option<G> {
        let slot = self.slots.remove(&number)?;
        let document = &mut self.documents[slot as usize];
        document.live = false;
        let group = document.group;
        if let Some(size) = self.sizes.get_mut(&group) {
            *size -= 1;
        }
        if self.documents.len() - self.slots.len() > self.slots.len() + FEW {
            self.clear_away();
        }
        Some(group)
    }

    /// How many slots there are, those of removed documents included.
    pub(crate) fn slots(&self) -> usize {
        self.documents.len()
    }

    pub(crate) fn document(&self, slot: u32) -> &Document<G> {
        &self.documents[slot as usize]
    }

    /// The documents that are left, and for each posting of theirs the term's hash, the document's place among them and the
    /// count. There must not be more than 65,536.
    pub(crate) fn packed(&self) -> (Vec<Document<G>>, Vec<PackedPosting>) {
        let mut moved = vec![None; self.documents.len()];
        let mut next = 0..;
        for (old, _) in self.documents.iter().enumerate().filter(|(_, document)| document.live) {
            moved[old] = next.next();
        }
        let documents = self.documents.iter().filter(|document| document.live).copied().collect();
        let postings = self.terms.iter().flat_map(|(term, postings)| postings.iter().map(|posting| (*term, posting)));
        let postings =
            postings.filter_map(|(term, posting)| Some((term, moved[posting.slot as usize]?, posting.count)));
        (documents, postings.collect())
    }

    pub(crate) fn numbers(&self) -> impl Iterator<Item = i64> {
        self.slots.keys().copied()
    }

    /// How many documents it holds.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Lets go of what was removed.
    fn clear_away(&mut self) {
        let mut moved = vec![None; self.documents.len()];
        let mut next = 0..;
        for (old, _) in self.documents.iter().enumerate().filter(|(_, document)| document.live) {
            moved[old] = next.next();
        }
        self.terms.retain(|_, postings| {
            postings.retain_mut(|posting| match moved[posting.slot as usize] {
                Some(slot) => {
                    posting.slot = slot;
                    true
                }
                None => false,
            });
            postings.shrink_to_fit();
            !postings.is_empty()
        });
        self.documents.retain(|document| document.live);
        self.slots = self.documents.iter().zip(0..).map(|(document, slot)| (document.number, slot)).collect();
        self.sizes.retain(|_, size| *size > 0);
    }

    fn size(&self, groups: Option<&FxHashSet<G>>) -> u64 {
        match groups {
            None => self.slots.len() as u64,
            Some(groups) => groups.iter().filter_map(|group| self.sizes.get(group)).sum(),
        }
    }

    /// For each clause, the documents of these groups that hold a term of it, with how often they hold it.
    pub(crate) fn matches(&self, clauses: &[Clause], groups: Option<&FxHashSet<G>>) -> Vec<Vec<(u32, f64)>> {
        let reached = |slot: u32| {
            let document = &self.documents[slot as usize];
            document.live && groups.is_none_or(|groups| groups.contains(&document.group))
        };
        let postings = |term: &str| {
            let postings = self.terms.get(&hash(term)).map_or(&[][..], Vec::as_slice);
            postings.iter().filter(|posting| reached(posting.slot))
        };
        let mut sums = Sums::new(0);
        let of_clause = |clause: &Clause| match clause.terms.as_slice() {
            [] => Vec::new(),
            [one] => postings(&one.term).map(|p| (p.slot, f64::from(p.count) * one.weight)).collect(),
            several => {
                sums.make_room(self.documents.len());
                for wanted in several {
                    postings(&wanted.term).for_each(|p| sums.add(p.slot, f64::from(p.count) * wanted.weight));
                }
                sums.drain().collect()
            }
        };
        clauses.iter().map(of_clause).collect()
    }
}

/// The documents of these groups (all of them, with `None`) in all of these parts that hold a clause, and that `admit`
/// lets pass by their number: best first, equal ones by id, at most `limit`, with the scores that [`Bm25::rank`] gives.
/// Asks `admit` no more often than it has to.
///
/// # Errors
/// The first one of `admit`.
pub fn find<G: Copy + Eq + Hash, E>(
    ranking: &Bm25,
    parts: &[&Postings<G>],
    groups: Option<&FxHashSet<G>>,
    clauses: &[Clause],
    limit: usize,
    mut admit: impl FnMut(i64) -> Result<bool, E>,
) -> Result<Vec<(RecordId, Score)>, E> {
    let matches: Vec<Vec<Vec<(u32, f64)>>> = parts.iter().map(|part| part.matches(clauses, groups)).collect();
    let held = |list: &Vec<(u32, f64)>| list.iter().filter(|(_, frequency)| *frequency > 0.0).count() as u64;
    let holders: Vec<u64> = (0..clauses.len()).map(|i| matches.iter().map(|lists| held(&lists[i])).sum()).collect();
    let documents = parts.iter().map(|part| part.size(groups)).sum();
    let rarity = Rarity::of(documents, clauses, &holders);
    let mut found = Vec::new();
    let mut sums = Sums::new(parts.iter().map(|part| part.documents.len()).max().unwrap_or_default());
    for (part, lists) in parts.iter().zip(matches) {
        for (list, rarity) in lists.into_iter().zip(&rarity.each) {
            for (slot, frequency) in list {
                sums.add(slot, ranking.gain_of(*rarity, frequency, part.documents[slot as usize].length));
            }
        }
        found.extend(sums.drain().map(|(slot, gains)| {
            let document = &part.documents[slot as usize];
            Found { score: rarity.score(gains), id: document.id, number: document.number }
        }));
    }
    let mut found = BinaryHeap::from(found);
    let mut best = Vec::with_capacity(limit.min(found.len()));
    while best.len() < limit
        && let Some(next) = found.pop()
    {
        if admit(next.number)? {
            best.push((next.id, next.score));
        }
    }
    Ok(best)
}

/// Ordered so that the better one is greater.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) score: Score,
    pub(crate) id: RecordId,
    pub(crate) number: i64,
}

impl Ord for Found {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.cmp(&other.score).then_with(|| (other.id, other.number).cmp(&(self.id, self.number)))
    }
}

impl PartialOrd for Found {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A sum for each slot that something was added to.
#[derive(Debug)]
pub(crate) struct Sums {
    values: Vec<f64>,
    touched: Vec<u32>,
}

/// No sum: no clause weighs so little.
const UNTOUCHED: f64 = f64::NEG_INFINITY;

impl Sums {
    pub(crate) fn new(slots: usize) -> Self {
        Self { values: vec![UNTOUCHED; slots], touched: Vec::new() }
    }

    fn make_room(&mut self, slots: usize) {
        if self.values.len() < slots {
            self.values.resize(slots, UNTOUCHED);
        }
    }

    pub(crate) fn add(&mut self, slot: u32, value: f64) {
        let sum = &mut self.values[slot as usize];
        if *sum == UNTOUCHED {
            *sum = 0.0;
            self.touched.push(slot);
        }
        *sum += value;
    }

    /// The sum that `nth` of them reach; `None`, when there are not so many.
    pub(crate) fn nth_best(&self, nth: usize) -> Option<f64> {
        if nth == 0 || self.touched.len() < nth {
            return None;
        }
        let mut sums: Vec<f64> = self.touched.iter().map(|slot| self.values[*slot as usize]).collect();
        Some(*sums.select_nth_unstable_by(nth - 1, |a, b| b.total_cmp(a)).1)
    }

    /// Gives the sums and forgets them.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = (u32, f64)> {
        let values = &mut self.values;
        self.touched.drain(..).map(move |slot| (slot, std::mem::replace(&mut values[slot as usize], UNTOUCHED)))
    }
}

pub(crate) fn hash(term: &str) -> u64 {
    xxh3_64(term.as_bytes())
}

#[cfg(test)]
mod tests;
