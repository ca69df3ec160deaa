//! The postings of one clause in one packed segment.

use super::{document::term_hash, segment::Segment};
use crate::{
    bm25::{Bm25, IdfTable},
    store::Clause,
};

/// Number of postings that are traversed in the time of one binary search.
const POSTINGS_PER_LOOKUP: usize = 16;

/// The documents of a segment that contain a clause, by slot, with their weighted frequencies.
#[derive(Debug)]
pub(super) enum PostingList<'s> {
    /// All postings of one term, as the segment stores them.
    Stored {
        slots: &'s [u16],
        frequencies: &'s [u8],
        /// Number of the first posting.
        first: u32,
        weight: f64,
        /// Maximum term score at idf 1, if known.
        max_score: Option<f64>,
    },
    /// Postings of several terms, or of some of the documents.
    Computed(Vec<(u16, f64)>),
}

impl PostingList<'_> {
    /// Number of documents that contain the clause.
    pub(super) fn document_frequency(&self) -> u64 {
        match self {
            Self::Stored { slots, weight, .. } if *weight > 0.0 => slots.len() as u64,
            Self::Stored { .. } => 0,
            Self::Computed(list) => list.iter().filter(|(_, frequency)| *frequency > 0.0).count() as u64,
        }
    }

    /// Returns the highest score that the clause can add to a document.
    pub(super) fn upper_bound(&self, clause: usize, idf: &IdfTable, bm25: &Bm25) -> f64 {
        match self {
            Self::Stored { max_score: Some(max_score), .. } => idf.of(clause) * max_score,
            Self::Stored { slots: [], .. } => 0.0,
            Self::Computed(list) if list.is_empty() => 0.0,
            Self::Stored { .. } | Self::Computed(_) => bm25.max_term_score(idf.of(clause)),
        }
    }

    /// Calls `visit` with each slot and its weighted frequency.
    #[inline]
    pub(super) fn for_each(&self, segment: &Segment, mut visit: impl FnMut(u16, f64)) {
        match self {
            Self::Stored { slots, frequencies, first, weight, .. } => {
                for ((slot, frequency), posting) in slots.iter().zip(*frequencies).zip(*first..) {
                    let frequency =
                        if *frequency == u8::MAX { segment.frequency(posting) } else { u32::from(*frequency) };
                    visit(*slot, f64::from(frequency) * weight);
                }
            }
            Self::Computed(list) => list.iter().for_each(|(slot, frequency)| visit(*slot, *frequency)),
        }
    }

    /// Returns the weighted frequency in one document; `None` if it does not contain the clause.
    #[inline]
    pub(super) fn frequency(&self, segment: &Segment, slot: u16) -> Option<f64> {
        match self {
            Self::Stored { slots, first, weight, .. } => {
                let index = slots.binary_search(&slot).ok()?;
                Some(f64::from(segment.frequency(first + index as u32)) * weight)
            }
            Self::Computed(list) => {
                let index = list.binary_search_by_key(&slot, |(slot, _)| *slot).ok()?;
                Some(list[index].1)
            }
        }
    }
}

impl Segment {
    /// Returns a posting list for each clause, limited to these groups. `groups` must not contain a group twice.
    pub(super) fn posting_lists(&self, clauses: &[Clause], groups: Option<&[i64]>) -> Vec<PostingList<'_>> {
        let searched_slots = self.slots_of_groups(groups);
        clauses.iter().map(|clause| self.posting_list(clause, searched_slots.as_deref())).collect()
    }

    fn posting_list(&self, clause: &Clause, searched_slots: Option<&[u16]>) -> PostingList<'_> {
        if searched_slots.is_some_and(<[u16]>::is_empty) {
            return PostingList::Computed(Vec::new());
        }
        if let ([only], None) = (clause.terms.as_slice(), searched_slots) {
            let Some(term) = self.term(&only.term) else { return PostingList::Computed(Vec::new()) };
            let first = self.starts[term];
            let range = first as usize..self.starts[term + 1] as usize;
            // The maximum was computed for weight 1.
            let max_score = if only.weight == 1.0 { self.max_scores.get(&(term as u32)).copied() } else { None };
            return PostingList::Stored {
                slots: &self.slots[range.clone()],
                frequencies: &self.frequencies[range],
                first,
                weight: only.weight,
                max_score: max_score.filter(|score| score.is_finite()),
            };
        }
        let mut list: Vec<(u16, f64)> = Vec::new();
        for term in &clause.terms {
            let Some(index) = self.term(&term.term) else { continue };
            self.for_each_searched(index, searched_slots, |slot, posting| {
                list.push((slot, f64::from(self.frequency(posting)) * term.weight));
            });
        }
        // A stable sort, so that the frequencies of a document are summed in the order of the terms.
        list.sort_by_key(|(slot, _)| *slot);
        list.dedup_by(|next, previous| {
            let is_same_document = next.0 == previous.0;
            if is_same_document {
                previous.1 += next.1;
            }
            is_same_document
        });
        PostingList::Computed(list)
    }

    /// Returns the slots of the live documents of these groups, ascending; `None` for all slots.
    fn slots_of_groups(&self, groups: Option<&[i64]>) -> Option<Vec<u16>> {
        let is_live = |slot: &u16| self.documents[usize::from(*slot)].live;
        let Some(groups) = groups else {
            if self.live == self.documents.len() {
                return None;
            }
            return Some((0..self.documents.len()).map(|slot| slot as u16).filter(is_live).collect());
        };
        let slots = || groups.iter().filter_map(|group| self.groups.get(group)).flatten().copied();
        if self.live == self.documents.len() && slots().count() == self.live {
            return None;
        }
        let mut searched_slots: Vec<u16> = slots().filter(is_live).collect();
        searched_slots.sort_unstable();
        Some(searched_slots)
    }

    /// Calls `visit` for each searched document that contains a term, with its slot and the number of its posting.
    /// The slots ascend.
    fn for_each_searched(&self, term: usize, searched_slots: Option<&[u16]>, mut visit: impl FnMut(u16, u32)) {
        let first = self.starts[term];
        let slots = &self.slots[first as usize..self.starts[term + 1] as usize];
        let Some(mut searched_slots) = searched_slots else {
            return slots.iter().zip(first..).for_each(|(slot, posting)| visit(*slot, posting));
        };
        if searched_slots.len() * POSTINGS_PER_LOOKUP < slots.len() {
            for slot in searched_slots {
                if let Ok(index) = slots.binary_search(slot) {
                    visit(*slot, first + index as u32);
                }
            }
            return;
        }
        for (slot, posting) in slots.iter().zip(first..) {
            while searched_slots.first().is_some_and(|next| next < slot) {
                searched_slots = &searched_slots[1..];
            }
            if searched_slots.first() == Some(slot) {
                visit(*slot, posting);
            }
        }
    }

    /// Returns the index of a term, or `None` if no document of the segment contains it.
    fn term(&self, term: &str) -> Option<usize> {
        self.terms.binary_search(&term_hash(term)).ok()
    }
}
