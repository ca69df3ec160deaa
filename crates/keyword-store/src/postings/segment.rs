//! Segments of packed postings, which change only by removals.
//!
//! Reasons: `docs/design/decisions/0046-one-postings-structure.md`.

use rustc_hash::FxHashMap;

use super::document::{Document, PackedPosting, compacted_slots};
use crate::bm25::Bm25;

/// Minimum number of postings of a term for which the maximum term score is stored.
const MAX_SCORE_MIN_POSTINGS: usize = 64;

/// The packed postings of at most 65,536 documents. A slot is the index of a document in its segment.
#[derive(Debug, Clone)]
pub(super) struct Segment {
    /// Hashes of the terms, ascending.
    pub(super) terms: Vec<u64>,
    /// First posting of each term, and the number of postings at the end.
    pub(super) starts: Vec<u32>,
    /// Document slot of each posting, ascending within a term.
    pub(super) slots: Vec<u16>,
    /// Frequency of each posting; `u8::MAX` for those in `large_frequencies`.
    pub(super) frequencies: Vec<u8>,
    /// Frequencies of at least 255, by posting.
    pub(super) large_frequencies: FxHashMap<u32, u32>,
    /// Maximum term score at idf 1, by term, for the terms with at least [`MAX_SCORE_MIN_POSTINGS`] postings.
    pub(super) max_scores: FxHashMap<u32, f64>,
    pub(super) documents: Vec<Document>,
    /// Slots of each group, ascending.
    pub(super) groups: FxHashMap<i64, Vec<u16>>,
    /// Number of live documents.
    pub(super) live: usize,
}

impl Segment {
    /// Packs documents and their postings.
    pub(super) fn pack(documents: Vec<Document>, mut postings: Vec<PackedPosting>, bm25: &Bm25) -> Self {
        // Postings of other segments are sorted in long runs, which this sort only has to merge.
        postings.sort();
        let mut segment = Self {
            terms: Vec::new(),
            starts: Vec::new(),
            slots: Vec::with_capacity(postings.len()),
            frequencies: Vec::with_capacity(postings.len()),
            large_frequencies: FxHashMap::default(),
            max_scores: FxHashMap::default(),
            groups: FxHashMap::default(),
            live: documents.len(),
            documents,
        };
        for term_postings in postings.chunk_by(|a, b| a.0 == b.0) {
            segment.push_term(term_postings, bm25);
        }
        segment.starts.push(segment.slots.len() as u32);
        segment.index_groups();
        segment.terms.shrink_to_fit();
        segment.starts.shrink_to_fit();
        segment
    }

    fn push_term(&mut self, postings: &[PackedPosting], bm25: &Bm25) {
        let term = self.terms.len() as u32;
        let start = self.slots.len() as u32;
        self.terms.push(postings[0].0);
        self.starts.push(start);
        for (posting, (_, slot, frequency)) in (start..).zip(postings) {
            self.slots.push(*slot);
            self.frequencies.push(u8::try_from(*frequency).unwrap_or(u8::MAX));
            if *frequency >= u32::from(u8::MAX) {
                self.large_frequencies.insert(posting, *frequency);
            }
        }
        if postings.len() >= MAX_SCORE_MIN_POSTINGS {
            let score = |(_, slot, frequency): &PackedPosting| {
                bm25.term_score(1.0, f64::from(*frequency), self.documents[usize::from(*slot)].length)
            };
            let max_score = postings.iter().map(score).fold(0.0, f64::max);
            self.max_scores.insert(term, max_score);
        }
    }

    /// Lists the slots of each group.
    pub(super) fn index_groups(&mut self) {
        for (document, slot) in self.documents.iter().zip(0..=u16::MAX) {
            self.groups.entry(document.group).or_default().push(slot);
        }
    }

    /// All documents with their slots, removed ones included.
    pub(super) fn documents(&self) -> impl Iterator<Item = (u16, &Document)> {
        self.documents.iter().enumerate().map(|(slot, document)| (slot as u16, document))
    }

    /// Returns true if removed documents are the majority.
    pub(super) fn needs_compaction(&self) -> bool {
        2 * self.live < self.documents.len()
    }

    /// Returns a copy without the removed documents.
    pub(super) fn compacted(&self, bm25: &Bm25) -> Self {
        let mut documents = Vec::new();
        let mut postings = Vec::new();
        self.unpack(&mut documents, &mut postings);
        Self::pack(documents, postings, bm25)
    }

    /// Number of slots, those of removed documents included.
    pub(super) fn slots(&self) -> usize {
        self.documents.len()
    }

    /// Number of live documents.
    pub(super) fn live(&self) -> usize {
        self.live
    }

    /// Appends the live documents and their postings. There must be at most 65,536 documents in the end.
    pub(super) fn unpack(&self, documents: &mut Vec<Document>, postings: &mut Vec<PackedPosting>) {
        let new_slots = compacted_slots(&self.documents, documents.len() as u32);
        documents.extend(self.documents.iter().filter(|document| document.live));
        for (term, bounds) in self.terms.iter().zip(self.starts.windows(2)) {
            for posting in bounds[0]..bounds[1] {
                if let Some(slot) = new_slots[usize::from(self.slots[posting as usize])] {
                    postings.push((*term, slot as u16, self.frequency(posting)));
                }
            }
        }
    }

    /// Removes a document. Returns the group that it belonged to.
    pub(super) fn remove(&mut self, slot: u16) -> i64 {
        let document = &mut self.documents[usize::from(slot)];
        document.live = false;
        self.live -= 1;
        document.group
    }

    /// Returns the frequency of a posting.
    #[inline]
    pub(super) fn frequency(&self, posting: u32) -> u32 {
        match self.frequencies[posting as usize] {
            u8::MAX => self.large_frequencies.get(&posting).copied().unwrap_or(u32::from(u8::MAX)),
            frequency => u32::from(frequency),
        }
    }
}
