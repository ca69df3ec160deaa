//! Documents and postings in the form that all segments share.

use memory_engine_core::RecordId;
use xxhash_rust::xxh3::xxh3_64;

/// A document in a segment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Document {
    pub(super) id: RecordId,
    /// Number that the caller assigned to the document.
    pub(super) number: i64,
    /// Group that the document belongs to, for example its address.
    pub(super) group: i64,
    /// Number of terms, repetitions included.
    pub(super) length: u32,
    /// False after the document was removed.
    pub(super) live: bool,
}

/// A posting by itself: the hash of the term, the slot of the document and the frequency.
pub(super) type PackedPosting = (u64, u16, u32);

/// Returns the 64-bit hash that represents a term. The text of terms is not stored.
pub(super) fn term_hash(term: &str) -> u64 {
    xxh3_64(term.as_bytes())
}

/// Returns the slot of each live document after removed documents are dropped, counted from `first`; `None` for removed
/// ones.
pub(super) fn compacted_slots(documents: &[Document], first: u32) -> Vec<Option<u32>> {
    let mut next = first..;
    documents.iter().map(|document| if document.live { next.next() } else { None }).collect()
}
