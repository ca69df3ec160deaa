//! The segment that new documents are added to until it is packed.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    accumulators::Accumulators,
    document::{Document, PackedPosting, compacted_slots, term_hash},
};
use crate::store::Clause;

/// Minimum number of removed documents before the segment is compacted.
const COMPACTION_MIN_REMOVED: usize = 1000;

/// Postings that can grow. The postings of removed documents stay until removed documents are the majority.
#[derive(Debug, Clone, Default)]
pub(super) struct OpenSegment {
    terms: FxHashMap<u64, Vec<Posting>>,
    documents: Vec<Document>,
    /// Slot of each document, by its number.
    slots: FxHashMap<i64, u32>,
}

#[derive(Debug, Clone, Copy)]
struct Posting {
    slot: u32,
    frequency: u32,
}

impl OpenSegment {
    /// Adds a document whose number is not in the segment: its terms, each once, with their frequencies.
    pub(super) fn insert<'t>(&mut self, document: Document, terms: impl IntoIterator<Item = (&'t str, u32)>) {
        let slot = self.documents.len() as u32;
        self.slots.insert(document.number, slot);
        self.documents.push(document);
        for (term, frequency) in terms {
            self.terms.entry(term_hash(term)).or_default().push(Posting { slot, frequency });
        }
    }

    /// Removes a document. Returns its group, or `None` if the segment does not contain it.
    pub(super) fn remove(&mut self, number: i64) -> Option<i64> {
        let slot = self.slots.remove(&number)?;
        let document = &mut self.documents[slot as usize];
        document.live = false;
        let group = document.group;
        if self.documents.len() - self.slots.len() > self.slots.len() + COMPACTION_MIN_REMOVED {
            self.compact();
        }
        Some(group)
    }

    /// Drops the postings of removed documents.
    pub(super) fn compact(&mut self) {
        let new_slots = compacted_slots(&self.documents, 0);
        self.terms.retain(|_, postings| {
            postings.retain_mut(|posting| {
                let Some(slot) = new_slots[posting.slot as usize] else { return false };
                posting.slot = slot;
                true
            });
            postings.shrink_to_fit();
            !postings.is_empty()
        });
        self.documents.retain(|document| document.live);
        self.slots = self.documents.iter().zip(0..).map(|(document, slot)| (document.number, slot)).collect();
    }

    /// Returns the live documents and their postings, for a packed segment. There must be at most 65,536.
    pub(super) fn unpack(&self) -> (Vec<Document>, Vec<PackedPosting>) {
        let new_slots = compacted_slots(&self.documents, 0);
        let documents = self.documents.iter().filter(|document| document.live).copied().collect();
        let mut packed = Vec::new();
        for (term, postings) in &self.terms {
            for posting in postings {
                if let Some(slot) = new_slots[posting.slot as usize] {
                    packed.push((*term, slot as u16, posting.frequency));
                }
            }
        }
        (documents, packed)
    }

    /// Number of slots, those of removed documents included.
    pub(super) fn slots(&self) -> usize {
        self.documents.len()
    }

    /// Number of live documents.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns the document in a slot.
    #[inline]
    pub(super) fn document(&self, slot: u32) -> &Document {
        &self.documents[slot as usize]
    }

    /// Numbers of the live documents.
    pub(super) fn numbers(&self) -> impl Iterator<Item = i64> {
        self.slots.keys().copied()
    }

    /// Returns, for each clause, the slots of the documents of these groups that contain it, with weighted frequencies.
    pub(super) fn matches(&self, clauses: &[Clause], groups: Option<&FxHashSet<i64>>) -> Vec<Vec<(u32, f64)>> {
        let mut accumulators = Accumulators::new(0);
        clauses.iter().map(|clause| self.matches_of_clause(clause, groups, &mut accumulators)).collect()
    }

    fn matches_of_clause(
        &self,
        clause: &Clause,
        groups: Option<&FxHashSet<i64>>,
        accumulators: &mut Accumulators,
    ) -> Vec<(u32, f64)> {
        match clause.terms.as_slice() {
            [] => Vec::new(),
            [term] => self
                .postings(&term.term, groups)
                .map(|posting| (posting.slot, f64::from(posting.frequency) * term.weight))
                .collect(),
            terms => {
                accumulators.ensure_slots(self.documents.len());
                for term in terms {
                    for posting in self.postings(&term.term, groups) {
                        accumulators.add(posting.slot, f64::from(posting.frequency) * term.weight);
                    }
                }
                accumulators.drain().collect()
            }
        }
    }

    fn postings(&self, term: &str, groups: Option<&FxHashSet<i64>>) -> impl Iterator<Item = &Posting> {
        let postings = self.terms.get(&term_hash(term)).map_or(&[][..], Vec::as_slice);
        postings.iter().filter(move |posting| {
            let document = &self.documents[posting.slot as usize];
            document.live && groups.is_none_or(|groups| groups.contains(&document.group))
        })
    }
}
