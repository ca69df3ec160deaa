//! Postings that are packed, and never changed again but for what is removed.

use std::{
    hash::Hash,
    io::{self, Read, Write},
};

use memory_engine_core::{
    RecordId,
    snapshot::{SnapshotReader, SnapshotWriter, pull_varint, push_varint},
};
use rustc_hash::FxHashMap;

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
    /// The slots of each group, in their order.
    groups: FxHashMap<G, Vec<u16>>,
    live: usize,
}

/// Takes a number off the front, nearly always of one byte.
#[inline]
fn pull(bytes: &mut &[u8]) -> io::Result<u64> {
    match bytes {
        [first, rest @ ..] if *first < 0x80 => {
            *bytes = rest;
            Ok(u64::from(*first))
        }
        _ => pull_varint(bytes),
    }
}

/// From how many postings on it is worth knowing what they are worth.
const LONG: usize = 64;

/// How many postings are gone through in the time that one is searched for.
const SEARCHED: usize = 16;

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
        // What comes from other segments is sorted in long runs, which this sort only has to merge.
        all.sort();
        let mut segment = Self {
            terms: Vec::new(),
            starts: Vec::new(),
            slots: Vec::with_capacity(all.len()),
            counts: Vec::with_capacity(all.len()),
            large: FxHashMap::default(),
            bounds: FxHashMap::default(),
            groups: FxHashMap::default(),
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
        segment.find_groups();
        segment.terms.shrink_to_fit();
        segment.starts.shrink_to_fit();
        segment
    }

    /// Writes what is left of it, each group as a number.
    pub(super) fn save<W: Write>(&self, out: &mut SnapshotWriter<W>, group: impl Fn(&G) -> i64) -> io::Result<()> {
        if self.live < self.documents.len() {
            return self.without_the_gone(&Bm25::default()).save(out, group);
        }
        let documents = &self.documents;
        out.array(&documents.iter().map(|document| document.id.as_u64_pair().into()).collect::<Vec<[u64; 2]>>())?;
        out.deltas(documents.iter().map(|document| document.number))?;
        out.deltas(documents.iter().map(|document| group(&document.group)))?;
        out.deltas(documents.iter().map(|document| i64::from(document.length)))?;
        out.deltas(self.terms.iter().map(|term| *term as i64))?;
        let mut slots = Vec::with_capacity(self.slots.len() * 2);
        for bounds in self.starts.windows(2) {
            let held = &self.slots[bounds[0] as usize..bounds[1] as usize];
            push_varint(&mut slots, held.len() as u64);
            // Each once and in order.
            let mut next = 0;
            for slot in held {
                push_varint(&mut slots, u64::from(*slot) - next);
                next = u64::from(*slot) + 1;
            }
        }
        out.array(&slots)?;
        // Nearly all are 1.
        let others = || (0..).zip(&self.counts).filter(|(_, count)| **count != 1).map(|(n, _)| n);
        out.deltas(others().map(i64::from))?;
        out.deltas(others().map(|n| i64::from(self.count(n))))?;
        let mut bounded: Vec<(u32, f64)> = self.bounds.iter().map(|(term, bound)| (*term, *bound)).collect();
        bounded.sort_unstable_by_key(|(term, _)| *term);
        out.deltas(bounded.iter().map(|(term, _)| i64::from(*term)))?;
        out.array(&bounded.iter().map(|(_, bound)| *bound).collect::<Vec<f64>>())
    }

    /// Reads what was written. What cannot have been is an error, or finds nothing wrong in the memory of others.
    pub(super) fn load<R: Read>(input: &mut SnapshotReader<R>, group: impl Fn(i64) -> G) -> io::Result<Self> {
        let ids: Vec<[u64; 2]> = input.array()?;
        let (numbers, homes, lengths) = (input.deltas()?, input.deltas()?, input.deltas()?);
        let terms: Vec<u64> = input.deltas()?.into_iter().map(|term| term as u64).collect();
        let packed: Vec<u8> = input.array()?;
        let (mut rest, mut starts) = (&packed[..], Vec::with_capacity(terms.len() + 1));
        let mut slots: Vec<u16> = Vec::with_capacity(packed.len());
        for _ in 0..terms.len() {
            starts.push(slots.len() as u32);
            let mut next = 0;
            for _ in 0..pull(&mut rest)? {
                let slot = next + pull(&mut rest)?;
                slots.push(u16::try_from(slot).map_err(|_| io::ErrorKind::InvalidData)?);
                next = slot + 1;
            }
        }
        starts.push(slots.len() as u32);
        let (mut counts, mut large) = (vec![1_u8; slots.len()], FxHashMap::default());
        for (n, count) in input.deltas()?.into_iter().zip(input.deltas()?) {
            let place = counts.get_mut(n as usize).ok_or(io::ErrorKind::InvalidData)?;
            *place = u8::try_from(count).unwrap_or(u8::MAX);
            if *place == u8::MAX {
                large.insert(n as u32, count as u32);
            }
        }
        let (bounded, bounds): (Vec<i64>, Vec<f64>) = (input.deltas()?, input.array()?);
        let document = |((([high, low], number), home), length): ((([u64; 2], i64), i64), i64)| Document {
            id: RecordId::from_u64_pair(high, low),
            number,
            group: group(home),
            length: length as u32,
            live: true,
        };
        let documents: Vec<Document<G>> = ids.into_iter().zip(numbers).zip(homes).zip(lengths).map(document).collect();
        let live = documents.len();
        let bounds = bounded.into_iter().map(|term| term as u32).zip(bounds).collect();
        let mut segment =
            Self { terms, starts, slots, counts, large, bounds, documents, groups: FxHashMap::default(), live };
        segment.find_groups();
        Ok(segment)
    }

    fn find_groups(&mut self) {
        for (document, slot) in self.documents.iter().zip(0..) {
            self.groups.entry(document.group).or_default().push(slot);
        }
    }

    pub(super) fn documents(&self) -> impl Iterator<Item = (u16, &Document<G>)> {
        self.documents.iter().enumerate().map(|(slot, document)| (slot as u16, document))
    }

    pub(super) fn is_mostly_gone(&self) -> bool {
        2 * self.live < self.documents.len()
    }

    /// The same without what was removed.
    pub(super) fn without_the_gone(&self, ranking: &Bm25) -> Self {
        let (mut documents, mut postings) = (Vec::new(), Vec::new());
        self.unpack(&mut documents, &mut postings);
        Self::of(documents, postings, ranking)
    }

    /// How many documents it was made of.
    pub(super) fn len(&self) -> usize {
        self.documents.len()
    }

    /// How many documents are left.
    pub(super) fn live(&self) -> usize {
        self.live
    }

    /// Appends the documents that are left, and their postings. There must not be more than 65,536 in the end.
    pub(super) fn unpack(&self, documents: &mut Vec<Document<G>>, postings: &mut Vec<PackedPosting>) {
        let mut next = documents.len() as u16..;
        let moved: Vec<Option<u16>> =
            self.documents.iter().map(|document| if document.live { next.next() } else { None }).collect();
        documents.extend(self.documents.iter().filter(|document| document.live));
        for (term, bounds) in self.terms.iter().zip(self.starts.windows(2)) {
            let kept = (bounds[0]..bounds[1])
                .filter_map(|n| Some((*term, moved[usize::from(self.slots[n as usize])]?, self.count(n))));
            postings.extend(kept);
        }
    }

    /// Takes a document out; the group that it belonged to.
    pub(super) fn remove(&mut self, slot: u16) -> G {
        let document = &mut self.documents[usize::from(slot)];
        document.live = false;
        self.live -= 1;
        document.group
    }

    /// For each clause, the documents of these groups that hold it. No group is named twice.
    pub(super) fn lists(&self, clauses: &[Clause], groups: Option<&[G]>) -> Vec<List<'_>> {
        let reached = self.reached(groups);
        let list = |clause: &Clause| match (clause.terms.as_slice(), &reached) {
            (_, Some(reached)) if reached.is_empty() => List::Made(Vec::new()),
            ([one], None) => match self.term(&one.term) {
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
            (several, reached) => {
                let mut all: Vec<(u16, f64)> = Vec::new();
                for wanted in several {
                    let Some(term) = self.term(&wanted.term) else { continue };
                    self.held(term, reached.as_deref(), |slot, n| {
                        all.push((slot, f64::from(self.count(n)) * wanted.weight));
                    });
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

    /// The slots of the documents that are there and belong to these groups, in their order; `None` for all slots.
    fn reached(&self, groups: Option<&[G]>) -> Option<Vec<u16>> {
        let is_live = |slot: &u16| self.documents[usize::from(*slot)].live;
        let Some(groups) = groups else {
            let all = 0..self.documents.len() as u32;
            return (self.live < self.documents.len()).then(|| all.map(|slot| slot as u16).filter(is_live).collect());
        };
        let slots = || groups.iter().filter_map(|group| self.groups.get(group)).flatten().copied();
        if self.live == self.documents.len() && slots().count() == self.live {
            return None;
        }
        let mut reached: Vec<u16> = slots().filter(is_live).collect();
        reached.sort_unstable();
        Some(reached)
    }

    /// Gives the slots among these that hold a term, in their order, with the numbers of the postings.
    fn held(&self, term: usize, reached: Option<&[u16]>, mut give: impl FnMut(u16, u32)) {
        let (first, end) = (self.starts[term], self.starts[term + 1]);
        let slots = &self.slots[first as usize..end as usize];
        let Some(reached) = reached else {
            return slots.iter().zip(first..).for_each(|(slot, n)| give(*slot, n));
        };
        if reached.len() * SEARCHED < slots.len() {
            for slot in reached {
                if let Ok(n) = slots.binary_search(slot) {
                    give(*slot, first + n as u32);
                }
            }
            return;
        }
        let mut rest = reached;
        for (slot, n) in slots.iter().zip(first..) {
            while rest.first().is_some_and(|next| next < slot) {
                rest = &rest[1..];
            }
            if rest.first() == Some(slot) {
                give(*slot, n);
            }
        }
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
