//! A segmented inverted index in memory, with top-k retrieval by MaxScore.
//!
//! `open_segment` takes new documents, `segment` holds packed ones, `max_score` searches them, and `segment_format`
//! writes them to index cache files.
//!
//! Reasons: `docs/design/decisions/0003-postings-in-memory.md`.

mod accumulators;
mod compare;
mod document;
mod max_score;
mod open_segment;
mod posting_list;
mod segment;
mod segment_format;
mod top_k;

use std::io::{self, Read, Write};

use memory_engine_core::{
    RecordId, Score,
    snapshot::{SnapshotReader, SnapshotWriter},
};
use rustc_hash::{FxHashMap, FxHashSet};

use self::{
    accumulators::Accumulators, document::Document, open_segment::OpenSegment, posting_list::PostingList,
    segment::Segment, top_k::TopK,
};
use crate::{
    bm25::{Bm25, IdfTable},
    store::Clause,
};

/// Inverted index in memory, for adapters over a database: a search reads nothing from the disk.
///
/// A document has a number, which the caller assigns, and belongs to a group (one for each address). Terms are stored
/// as 64-bit hashes. The scores equal those of [`Bm25::rank`] to the last bit. The best documents are found without
/// scoring every document with a common term, by the MaxScore algorithm (H. Turtle and J. Flood, "Query evaluation:
/// strategies and optimizations", 1995).
///
/// New documents go to an open segment. When it has 8192 documents it is packed into a segment that changes only by
/// removals. Eight packed segments are merged into one. A packed posting takes three bytes.
#[derive(Debug, Clone)]
pub struct SegmentedPostings {
    segments: Vec<Segment>,
    open: OpenSegment,
    /// Positions of the documents in packed segments, by number.
    locations: FxHashMap<i64, Location>,
    /// Number of documents of each group.
    group_sizes: FxHashMap<i64, u64>,
    /// Number of documents at which the open segment is packed.
    segment_documents: usize,
}

#[derive(Debug, Clone, Copy)]
struct Location {
    segment: u32,
    slot: u16,
}

/// A document that a search found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundDocument {
    /// Number that the caller assigned to the document.
    pub number: i64,
    /// The id of its record.
    pub id: RecordId,
    /// Its BM25 score.
    pub score: Score,
}

/// Number of documents at which the open segment is packed.
const SEGMENT_DOCUMENTS: usize = 8192;
/// Number of packed segments that are merged into one. A merged segment is not merged again, so that each posting is
/// moved once.
const MERGE_SEGMENTS: usize = 8;

impl Default for SegmentedPostings {
    fn default() -> Self {
        Self {
            segments: Vec::new(),
            open: OpenSegment::default(),
            locations: FxHashMap::default(),
            group_sizes: FxHashMap::default(),
            segment_documents: SEGMENT_DOCUMENTS,
        }
    }
}

impl SegmentedPostings {
    /// Adds a document and replaces an earlier one with the same number. `length` is its number of terms, repetitions
    /// included; `terms` holds each distinct term with its frequency.
    pub fn insert<'t>(
        &mut self,
        number: i64,
        id: RecordId,
        group: i64,
        length: u32,
        terms: impl IntoIterator<Item = (&'t str, u32)>,
    ) {
        self.remove(number);
        self.open.insert(Document { id, number, group, length, live: true }, terms);
        *self.group_sizes.entry(group).or_default() += 1;
        if self.open.len() >= self.segment_documents {
            self.pack_open();
        }
    }

    fn pack_open(&mut self) {
        let (documents, postings) = std::mem::take(&mut self.open).unpack();
        self.segments.push(Segment::pack(documents, postings, &Bm25::default()));
        let is_unmerged = |segment: &&Segment| segment.slots() <= self.segment_documents;
        let unmerged = self.segments.iter().rev().take_while(is_unmerged).count();
        if unmerged >= MERGE_SEGMENTS {
            let mut documents = Vec::new();
            let mut postings = Vec::new();
            for segment in self.segments.drain(self.segments.len() - MERGE_SEGMENTS..) {
                segment.unpack(&mut documents, &mut postings);
            }
            self.segments.push(Segment::pack(documents, postings, &Bm25::default()));
        }
        self.locate_documents(self.segments.len() - 1);
    }

    /// Writes all documents as packed segments.
    ///
    /// # Errors
    /// Returns the error of the output.
    pub fn save<W: Write>(&self, out: &mut SnapshotWriter<W>) -> io::Result<()> {
        let (documents, postings) = self.open.unpack();
        let last = Segment::pack(documents, postings, &Bm25::default());
        let non_empty: Vec<&Segment> =
            self.segments.iter().chain([&last]).filter(|segment| segment.live() > 0).collect();
        out.number(non_empty.len() as u64)?;
        non_empty.into_iter().try_for_each(|segment| segment.save(out))
    }

    /// Adds the documents that [`save`](Self::save) wrote, and replaces earlier ones with the same numbers. The result
    /// is only valid if the checksum of the snapshot is correct.
    ///
    /// # Errors
    /// Returns the error of the input, or `InvalidData`.
    pub fn extend<R: Read>(&mut self, input: &mut SnapshotReader<R>) -> io::Result<()> {
        for _ in 0..input.number()? {
            let segment = Segment::load(input)?;
            if !self.is_empty() {
                for (_, document) in segment.documents() {
                    self.remove(document.number);
                }
            }
            for (_, document) in segment.documents() {
                *self.group_sizes.entry(document.group).or_default() += 1;
            }
            self.segments.push(segment);
            self.locate_documents(self.segments.len() - 1);
        }
        Ok(())
    }

    /// Packs the open segment and merges segments that are not full, for the smallest number of segments.
    pub fn merge(&mut self) {
        let (documents, postings) = std::mem::take(&mut self.open).unpack();
        self.segments.push(Segment::pack(documents, postings, &Bm25::default()));
        let mut documents = Vec::new();
        let mut postings = Vec::new();
        for segment in std::mem::take(&mut self.segments) {
            if documents.len() + segment.live() > MERGE_SEGMENTS * self.segment_documents {
                let full =
                    Segment::pack(std::mem::take(&mut documents), std::mem::take(&mut postings), &Bm25::default());
                self.segments.push(full);
            }
            segment.unpack(&mut documents, &mut postings);
        }
        self.segments.push(Segment::pack(documents, postings, &Bm25::default()));
        (0..self.segments.len()).for_each(|segment| self.locate_documents(segment));
    }

    /// Records the locations of the documents of a packed segment.
    fn locate_documents(&mut self, segment: usize) {
        for (slot, document) in self.segments[segment].documents() {
            if document.live {
                self.locations.insert(document.number, Location { segment: segment as u32, slot });
            }
        }
    }

    /// Removes a document. Returns true if it existed.
    pub fn remove(&mut self, number: i64) -> bool {
        let group = match self.locations.remove(&number) {
            Some(Location { segment, slot }) => Some(self.remove_packed(segment as usize, slot)),
            None => self.open.remove(number),
        };
        if let Some(size) = group.and_then(|group| self.group_sizes.get_mut(&group)) {
            *size -= 1;
        }
        group.is_some()
    }

    fn remove_packed(&mut self, segment: usize, slot: u16) -> i64 {
        let group = self.segments[segment].remove(slot);
        if self.segments[segment].needs_compaction() {
            self.segments[segment] = self.segments[segment].compacted(&Bm25::default());
            self.locate_documents(segment);
        }
        group
    }

    /// Returns the greatest document number, or `None` if there are no documents.
    pub fn last(&self) -> Option<i64> {
        self.locations.keys().copied().chain(self.open.numbers()).max()
    }

    /// Returns the number of documents.
    pub fn len(&self) -> usize {
        self.locations.len() + self.open.len()
    }

    /// Returns true if there are no documents.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the best `limit` documents that contain a clause and pass `admit`, best first; equal scores are ordered
    /// by id.
    ///
    /// Searches these groups, or all groups if `None`. `groups` must not contain a group twice. The statistics include
    /// documents that `admit` rejects. `admit` is called for each posting, so it must be fast.
    pub fn find(
        &self,
        groups: Option<&[i64]>,
        clauses: &[Clause],
        limit: usize,
        admit: Option<impl Fn(i64) -> bool>,
    ) -> Vec<FoundDocument> {
        match admit {
            Some(admit) => self.find_admitted(groups, clauses, limit, admit),
            None => self.find_admitted(groups, clauses, limit, |_| true),
        }
    }

    fn find_admitted(
        &self,
        groups: Option<&[i64]>,
        clauses: &[Clause],
        limit: usize,
        admit: impl Fn(i64) -> bool,
    ) -> Vec<FoundDocument> {
        let bm25 = Bm25::default();
        let group_set: Option<FxHashSet<i64>> = groups.map(|groups| groups.iter().copied().collect());
        let open_matches = self.open.matches(clauses, group_set.as_ref());
        let packed_lists: Vec<Vec<PostingList<'_>>> =
            self.segments.iter().map(|segment| segment.posting_lists(clauses, groups)).collect();
        let document_frequency = |clause: usize| {
            let in_open = open_matches[clause].iter().filter(|(_, frequency)| *frequency > 0.0).count() as u64;
            let in_packed: u64 = packed_lists.iter().map(|lists| lists[clause].document_frequency()).sum();
            in_open + in_packed
        };
        let document_frequencies: Vec<u64> = (0..clauses.len()).map(document_frequency).collect();
        let idf = IdfTable::new(self.count_documents(groups), clauses, &document_frequencies);

        // With a negative idf, a clause that follows can lower a score, so that no threshold is valid.
        let mut top = TopK::new(if idf.is_non_negative() { limit } else { usize::MAX });
        let max_packed_slots = self.segments.iter().map(Segment::slots).max().unwrap_or_default();
        let mut accumulators = Accumulators::new(max_packed_slots.max(self.open.slots()));
        for (clause, matches) in open_matches.into_iter().enumerate() {
            let clause_idf = idf.of(clause);
            for (slot, frequency) in matches {
                let document = self.open.document(slot);
                if admit(document.number) {
                    accumulators.add(slot, bm25.term_score(clause_idf, frequency, document.length));
                }
            }
        }
        top.reserve(accumulators.len());
        for (slot, sum) in accumulators.drain() {
            top.offer(sum, self.open.document(slot), || idf.normalise(sum));
        }
        for (segment, lists) in self.segments.iter().zip(&packed_lists) {
            segment.collect_top(lists, &idf, &bm25, &admit, &mut accumulators, &mut top);
        }

        let mut candidates = top.into_heap();
        let mut hits = Vec::with_capacity(limit.min(candidates.len()));
        while hits.len() < limit
            && let Some(best) = candidates.pop()
        {
            hits.push(FoundDocument { number: best.number, id: best.id, score: best.score });
        }
        hits
    }

    fn count_documents(&self, groups: Option<&[i64]>) -> u64 {
        match groups {
            None => self.len() as u64,
            Some(groups) => groups.iter().filter_map(|group| self.group_sizes.get(group)).sum(),
        }
    }
}

#[cfg(test)]
mod tests;
