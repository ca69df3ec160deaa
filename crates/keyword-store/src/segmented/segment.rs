//! Postings that are packed, and never changed again but for what is removed.

use std::hash::Hash;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Best, key};
use crate::{
    Bm25, Clause,
    bm25::Rarity,
    postings::{Document, PackedPosting, Sums},
};

/// Up to 65,536 documents: for each term, in the order of the hashes, the slots of those that hold it and how often they do.
#[derive(Debug, Clone)]
pub(super) struct Segment<G> {
    terms: Vec<u64>,
    /// Where the postings of a term begin; one more than terms.
    starts: Vec<u32>,
    slots: Vec<u16>,
    counts: Vec<u8>,
    /// Counts that do not fit, by the posting.
    large: FxHashMap<u32, u32>,
    /// For each term that many hold, what a document can gain by it at the most, when its rarity is 1.
    bounds: FxHashMap<u32, f64>,
    documents: Vec<Document<G>>,
    groups: FxHashSet<G>,
    live: usize,
}

/// From how many postings on it is worth knowing what they are worth.
const LONG: usize = 64;

/// The documents that hold a clause, by slot, with how often they hold it.
#[derive(Debug)]
pub(super) enum List<'s> {
    /// One term as it lies there; all of them count.
    Packed { slots: &'s [u16], counts: &'s [u8], first: u32, weight: f64, bound: f64 },
    /// Put together from several, or with some left out.
    Made(Vec<(u16, f64)>),
}

impl List<'_> {
    /// How many documents hold the clause.
    pub(super) fn holders(&self) -> u64 {
        match self {
            List::Packed { slots, weight, .. } if *weight > 0.0 => slots.len() as u64,
            List::Packed { .. } => 0,
            List::Made(list) => list.iter().filter(|(_, frequency)| *frequency > 0.0).count() as u64,
        }
    }
}

impl<G: Copy + Eq + Hash> Segment<G> {
    /// Packs documents with their postings: of each the term's hash, the document's place and the count.
    pub(super) fn of(documents: Vec<Document<G>>, mut all: Vec<PackedPosting>, ranking: &Bm25) -> Self {
        all.sort_unstable();
        let mut segment = Self {
            terms: Vec::new(),
            starts: Vec::new(),
            slots: Vec::with_capacity(all.len()),
            counts: Vec::with_capacity(all.len()),
            large: FxHashMap::default(),
            bounds: FxHashMap::default(),
            groups: documents.iter().map(|document| document.group).collect(),
            live: documents.len(),
            documents,
        };
        for one in all.chunk_by(|a, b| a.0 == b.0) {
            let (term, start) = (segment.terms.len() as u32, segment.slots.len() as u32);
            segment.terms.push(one[0].0);
            segment.starts.push(start);
            for (n, (_, slot, count)) in (start..).zip(one) {
                segment.slots.push(*slot);
                segment.counts.push(u8::try_from(*count).unwrap_or(u8::MAX));
                if *count >= u32::from(u8::MAX) {
                    segment.large.insert(n, *count);
                }
            }
            if one.len() >= LONG {
                let gain = |(_, slot, count): &PackedPosting| {
                    ranking.gain_of(1.0, f64::from(*count), segment.documents[usize::from(*slot)].length)
                };
                segment.bounds.insert(term, one.iter().map(gain).fold(0.0, f64::max));
            }
        }
        segment.starts.push(segment.slots.len() as u32);
        segment.terms.shrink_to_fit();
        segment.starts.shrink_to_fit();
        segment
    }

    pub(super) fn documents(&self) -> impl Iterator<Item = (u16, &Document<G>)> {
        self.documents.iter().enumerate().map(|(slot, document)| (slot as u16, document))
    }

    pub(super) fn is_mostly_gone(&self) -> bool {
        2 * self.live < self.documents.len()
    }

    /// The same without what was removed.
    pub(super) fn without_the_gone(&self, ranking: &Bm25) -> Self {
        let mut next = 0..;
        let moved: Vec<Option<u16>> =
            self.documents.iter().map(|document| if document.live { next.next() } else { None }).collect();
        let documents = self.documents.iter().filter(|document| document.live).copied().collect();
        let mut postings = Vec::new();
        for (term, bounds) in self.terms.iter().zip(self.starts.windows(2)) {
            let kept = (bounds[0]..bounds[1])
                .filter_map(|n| Some((*term, moved[usize::from(self.slots[n as usize])]?, self.count(n))));
            postings.extend(kept);
        }
        Self::of(documents, postings, ranking)
    }

    /// Takes a document out; the group that it belonged to.
    pub(super) fn remove(&mut self, slot: u16) -> G {
        let document = &mut self.documents[usize::from(slot)];
        document.live = false;
        self.live -= 1;
        document.group
    }

    /// For each clause, the documents of these groups that hold it.
    pub(super) fn lists(&self, clauses: &[Clause], groups: Option<&FxHashSet<G>>) -> Vec<List<'_>> {
        let groups = groups.filter(|groups| !self.groups.is_subset(groups));
        let whole = groups.is_none() && self.live == self.documents.len();
        let reached = |slot: u16| {
            let document = &self.documents[usize::from(slot)];
            document.live && groups.is_none_or(|groups| groups.contains(&document.group))
        };
        let list = |clause: &Clause| match clause.terms.as_slice() {
            [one] if whole => match self.term(&one.term) {
                None => List::Made(Vec::new()),
                Some(term) => {
                    let (first, end) = (self.starts[term], self.starts[term + 1]);
                    let range = first as usize..end as usize;
                    // A weight that makes more, or less, of each occurrence than 1 leaves the bound behind.
                    let bound = if one.weight == 1.0 { self.bounds.get(&(term as u32)).copied() } else { None };
                    let (slots, counts) = (&self.slots[range.clone()], &self.counts[range]);
                    List::Packed { slots, counts, first, weight: one.weight, bound: bound.unwrap_or(f64::NAN) }
                }
            },
            several => {
                let mut all: Vec<(u16, f64)> = Vec::new();
                for wanted in several {
                    let Some(term) = self.term(&wanted.term) else { continue };
                    let postings = (self.starts[term]..self.starts[term + 1]).filter_map(|n| {
                        let slot = self.slots[n as usize];
                        reached(slot).then(|| (slot, f64::from(self.count(n)) * wanted.weight))
                    });
                    all.extend(postings);
                }
                // Stable, so that what a document holds is added up in the order of the terms.
                all.sort_by_key(|(slot, _)| *slot);
                all.dedup_by(|next, kept| {
                    let same = next.0 == kept.0;
                    kept.1 += if same { next.1 } else { 0.0 };
                    same
                });
                List::Made(all)
            }
        };
        clauses.iter().map(list).collect()
    }

    fn term(&self, term: &str) -> Option<usize> {
        self.terms.binary_search(&key(term)).ok()
    }

    fn count(&self, posting: u32) -> u32 {
        match self.counts[posting as usize] {
            u8::MAX => self.large.get(&posting).copied().unwrap_or(u32::from(u8::MAX)),
            count => u32::from(count),
        }
    }

    /// Offers the documents that may be among the best. The rare clauses come first; as soon as what is left cannot lift a
    /// document over the bar that holds none of these, the others are only looked up for those that were met.
    pub(super) fn offer(&self, lists: &[List<'_>], rarity: &Rarity, ranking: &Bm25, sums: &mut Sums, best: &mut Best) {
        let most = |i: usize| match &lists[i] {
            List::Packed { bound, .. } if bound.is_finite() => rarity.each[i] * bound,
            // However often it is held, and however short the document is.
            List::Packed { slots: [], .. } => 0.0,
            List::Made(list) if list.is_empty() => 0.0,
            List::Packed { .. } | List::Made(_) => (rarity.each[i] * (ranking.k1 + 1.0)).max(0.0),
        };
        let mosts: Vec<f64> = (0..lists.len()).map(most).collect();
        let mut order: Vec<usize> = (0..lists.len()).collect();
        order.sort_by(|a, b| mosts[*b].total_cmp(&mosts[*a]));
        let mut left: f64 = mosts.iter().sum();
        for i in order {
            if best.is_beaten(left) {
                break;
            }
            self.each(&lists[i], |slot, frequency| {
                let length = self.documents[usize::from(slot)].length;
                sums.add(u32::from(slot), ranking.gain_of(rarity.each[i], frequency, length));
            });
            left -= mosts[i];
            if let Some(bar) = sums.nth_best(best.limit) {
                best.raise(bar * (1.0 - 1e-12) - 1e-12);
            }
        }
        let left = left.max(0.0);
        for (slot, so_far) in sums.drain() {
            if best.is_beaten(so_far + left) {
                continue;
            }
            let document = &self.documents[slot as usize];
            let gains = self.gains(slot as u16, lists, rarity, ranking, document.length);
            best.offer(gains, || (document, rarity.score(gains)));
        }
    }

    /// What a document gains by all clauses, added up in their order.
    fn gains(&self, slot: u16, lists: &[List<'_>], rarity: &Rarity, ranking: &Bm25, length: u32) -> f64 {
        let held = lists.iter().zip(&rarity.each).filter_map(|(list, rarity)| {
            let frequency = match list {
                List::Packed { slots, first, weight, .. } => {
                    let n = slots.binary_search(&slot).ok()?;
                    f64::from(self.count(first + n as u32)) * weight
                }
                List::Made(list) => list[list.binary_search_by_key(&slot, |(slot, _)| *slot).ok()?].1,
            };
            Some(ranking.gain_of(*rarity, frequency, length))
        });
        held.fold(0.0, |sum, gain| sum + gain)
    }

    fn each(&self, list: &List<'_>, mut take: impl FnMut(u16, f64)) {
        match list {
            List::Packed { slots, counts, first, weight, .. } => {
                for ((slot, count), n) in slots.iter().zip(*counts).zip(*first..) {
                    let count = if *count == u8::MAX { self.count(n) } else { u32::from(*count) };
                    take(*slot, f64::from(count) * weight);
                }
            }
            List::Made(list) => list.iter().for_each(|(slot, frequency)| take(*slot, *frequency)),
        }
    }
}
