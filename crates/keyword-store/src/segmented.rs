//! The postings of very many documents in memory, most of them packed.

mod segment;

use std::{
    cmp::Reverse,
    hash::Hash,
    io::{self, Read, Write},
};

use memory_engine_core::{
    RecordId, Score,
    snapshot::{SnapshotReader, SnapshotWriter},
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    Bm25, Clause, Postings,
    bm25::Rarity,
    postings::{Found, Sums, hash},
};
use segment::{List, Segment};

/// Who holds which term, as [`Postings`] know it, for searches over very many documents: the best of them are found without
/// looking at all that hold a common word (MaxScore: Turtle & Flood, "Query evaluation: strategies and optimizations", 1995).
///
/// Documents come into a few open postings; when these are 8192, they are packed into a segment that is never changed
/// again but for what is removed from it; eight of them become one. A posting takes three bytes.
#[derive(Debug, Clone)]
pub struct SegmentedPostings<G> {
    segments: Vec<Segment<G>>,
    open: Postings<G>,
    places: FxHashMap<i64, Place>,
    sizes: FxHashMap<G, u64>,
    full: usize,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    segment: u32,
    slot: u16,
}

/// With how many documents a segment is packed.
const FULL: usize = 8192;
/// How many such segments become one. It is not done to that one again, so that a posting is moved once.
const MERGED: usize = 8;

impl<G> Default for SegmentedPostings<G> {
    fn default() -> Self {
        Self {
            segments: Vec::new(),
            open: Postings::default(),
            places: FxHashMap::default(),
            sizes: FxHashMap::default(),
            full: FULL,
        }
    }
}

impl<G: Copy + Eq + Hash> SegmentedPostings<G> {
    /// Takes in a document, as [`Postings::insert`] does.
    pub fn insert<'t>(
        &mut self,
        number: i64,
        id: RecordId,
        group: G,
        length: u32,
        terms: impl IntoIterator<Item = (&'t str, u32)>,
    ) {
        self.remove(number);
        self.open.insert(number, id, group, length, terms);
        *self.sizes.entry(group).or_default() += 1;
        if self.open.len() >= self.full {
            self.pack();
        }
    }

    fn pack(&mut self) {
        let (documents, postings) = std::mem::take(&mut self.open).packed();
        self.segments.push(Segment::of(documents, postings, &Bm25::default()));
        let small = self.segments.iter().rev().take_while(|segment| segment.len() <= self.full).count();
        if small >= MERGED {
            let (mut documents, mut postings) = (Vec::new(), Vec::new());
            for segment in self.segments.drain(self.segments.len() - MERGED..) {
                segment.unpack(&mut documents, &mut postings);
            }
            self.segments.push(Segment::of(documents, postings, &Bm25::default()));
        }
        self.settle(self.segments.len() - 1);
    }

    /// Writes it, each group as a number: all of it packed.
    ///
    /// # Errors
    /// Those of the output.
    pub fn save<W: Write>(&self, out: &mut SnapshotWriter<W>, group: impl Fn(&G) -> i64) -> io::Result<()> {
        let (documents, postings) = self.open.packed();
        let last = Segment::of(documents, postings, &Bm25::default());
        let kept = || self.segments.iter().chain([&last]).filter(|segment| segment.live() > 0);
        out.number(kept().count() as u64)?;
        kept().try_for_each(|segment| segment.save(out, &group))
    }

    /// Takes in what [`save`](Self::save) has written, each document in place of an earlier one of the same number. It is to be
    /// used only when the snapshot turns out to be whole.
    ///
    /// # Errors
    /// Those of the input.
    pub fn extend<R: Read>(&mut self, input: &mut SnapshotReader<R>, group: impl Fn(i64) -> G) -> io::Result<()> {
        for _ in 0..input.number()? {
            let segment = Segment::load(input, &group)?;
            if !self.is_empty() {
                segment.documents().for_each(|(_, document)| {
                    self.remove(document.number);
                });
            }
            for (_, document) in segment.documents() {
                *self.sizes.entry(document.group).or_default() += 1;
            }
            self.segments.push(segment);
            self.settle(self.segments.len() - 1);
        }
        Ok(())
    }

    /// Puts segments together that are not full yet, so that there are as few as can be.
    pub fn condense(&mut self) {
        let (documents, postings) = std::mem::take(&mut self.open).packed();
        self.segments.push(Segment::of(documents, postings, &Bm25::default()));
        let (mut documents, mut postings) = (Vec::new(), Vec::new());
        for segment in std::mem::take(&mut self.segments) {
            if documents.len() + segment.live() > MERGED * self.full {
                let (documents, postings) = (std::mem::take(&mut documents), std::mem::take(&mut postings));
                self.segments.push(Segment::of(documents, postings, &Bm25::default()));
            }
            segment.unpack(&mut documents, &mut postings);
        }
        self.segments.push(Segment::of(documents, postings, &Bm25::default()));
        (0..self.segments.len()).for_each(|segment| self.settle(segment));
    }

    /// Notes where the documents of a segment are.
    fn settle(&mut self, segment: usize) {
        let place = |slot| Place { segment: segment as u32, slot };
        let documents = self.segments[segment].documents().filter(|(_, document)| document.live);
        self.places.extend(documents.map(|(slot, document)| (document.number, place(slot))));
    }

    /// Removes a document; whether it was there.
    pub fn remove(&mut self, number: i64) -> bool {
        let group = match self.places.remove(&number) {
            Some(Place { segment, slot }) => {
                let segment = segment as usize;
                let group = self.segments[segment].remove(slot);
                if self.segments[segment].is_mostly_gone() {
                    self.segments[segment] = self.segments[segment].without_the_gone(&Bm25::default());
                    self.settle(segment);
                }
                Some(group)
            }
            None => self.open.remove_and_tell(number),
        };
        if let Some(size) = group.and_then(|group| self.sizes.get_mut(&group)) {
            *size -= 1;
        }
        group.is_some()
    }

    /// The greatest number of a document.
    pub fn last(&self) -> Option<i64> {
        self.places.keys().copied().chain(self.open.numbers()).max()
    }

    /// How many documents it holds.
    pub fn len(&self) -> usize {
        self.places.len() + self.open.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What [`find`](crate::find) finds in the same documents, to the last bit of a score. Without `admit` it looks at no more
    /// documents than it has to.
    ///
    /// # Errors
    /// The first one of `admit`.
    pub fn find<E>(
        &self,
        groups: Option<&[G]>,
        clauses: &[Clause],
        limit: usize,
        mut admit: Option<impl FnMut(i64) -> Result<bool, E>>,
    ) -> Result<Vec<(RecordId, Score)>, E> {
        let ranking = Bm25::default();
        let set: Option<FxHashSet<G>> = groups.map(|groups| groups.iter().copied().collect());
        let open = self.open.matches(clauses, set.as_ref());
        let packed: Vec<Vec<List<'_>>> = self.segments.iter().map(|segment| segment.lists(clauses, groups)).collect();
        let held = |i: usize| {
            let open = open[i].iter().filter(|(_, frequency)| *frequency > 0.0).count();
            open as u64 + packed.iter().map(|lists| lists[i].holders()).sum::<u64>()
        };
        let holders: Vec<u64> = (0..clauses.len()).map(held).collect();
        let documents = match groups {
            None => self.len() as u64,
            Some(groups) => groups.iter().filter_map(|group| self.sizes.get(group)).sum(),
        };
        let rarity = Rarity::of(documents, clauses, &holders);
        let all_gain = rarity.each.iter().all(|rarity| *rarity >= 0.0);
        let mut best = Best::new(if admit.is_none() && all_gain { limit } else { usize::MAX });
        let longest = self.segments.iter().map(Segment::len).max().unwrap_or_default();
        let mut sums = Sums::new(longest.max(self.open.slots()));
        for (list, rarity) in open.into_iter().zip(&rarity.each) {
            for (slot, frequency) in list {
                sums.add(slot, ranking.gain_of(*rarity, frequency, self.open.document(slot).length));
            }
        }
        for (slot, gains) in sums.drain() {
            best.offer(gains, || (self.open.document(slot), rarity.score(gains)));
        }
        for (segment, lists) in self.segments.iter().zip(&packed) {
            segment.offer(lists, &rarity, &ranking, &mut sums, &mut best);
        }
        let mut found = best.found;
        found.sort_unstable_by(|a, b| b.found.cmp(&a.found));
        let mut given = Vec::with_capacity(limit.min(found.len()));
        for Offer { found, .. } in found {
            if given.len() == limit {
                break;
            }
            if admit.as_mut().map_or(Ok(true), |admit| admit(found.number))? {
                given.push((found.id, found.score));
            }
        }
        Ok(given)
    }
}

/// The best documents so far, and what one has to gain to be among them.
#[derive(Debug)]
struct Best {
    limit: usize,
    found: Vec<Offer>,
    /// What the worst of the best has gained, when there are as many as are wanted.
    bar: f64,
}

#[derive(Debug)]
struct Offer {
    gains: f64,
    found: Found,
}

/// What adding up in another order can be off by.
const ROUNDING: f64 = 1e-9;

impl Best {
    fn new(limit: usize) -> Self {
        Self { limit, found: Vec::new(), bar: f64::NEG_INFINITY }
    }

    /// Whether a document that gains no more than this cannot be among them.
    fn is_beaten(&self, most: f64) -> bool {
        most + ROUNDING * (1.0 + most.abs()) < self.bar
    }

    /// Raises the bar to what is known to be reached by as many as are wanted.
    fn raise(&mut self, gains: f64) {
        self.bar = self.bar.max(gains);
    }

    fn offer<'d, G: 'd>(&mut self, gains: f64, document: impl FnOnce() -> (&'d crate::postings::Document<G>, Score)) {
        if self.limit == 0 || self.is_beaten(gains) {
            return;
        }
        let (document, score) = document();
        self.found.push(Offer { gains, found: Found { score, id: document.id, number: document.number } });
        if self.found.len() >= self.limit.saturating_mul(4).max(64) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        if self.found.len() > self.limit {
            self.found.select_nth_unstable_by_key(self.limit - 1, |offer| {
                Reverse((offer.found.score, Reverse((offer.found.id, offer.found.number))))
            });
            self.found.truncate(self.limit);
            let worst = self.found.iter().map(|offer| offer.gains).fold(f64::INFINITY, f64::min);
            self.raise(worst);
        }
    }
}

fn key(term: &str) -> u64 {
    hash(term)
}

#[cfg(test)]
mod tests;
