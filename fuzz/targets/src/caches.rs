//! Targets that read the body of an index cache file.
//!
//! The checksum of a segment is verified after its arrays are read, so that a damaged file reaches all of this code.

use memory_engine_core::{EmbeddingSpace, snapshot::SnapshotReader};
use memory_engine_keyword_store::SegmentedPostings;
use memory_engine_vector_store::FlatIndex;

/// Reads a segment of postings into an index that has documents already.
pub(crate) fn postings(input: &[u8]) {
    let mut postings = SegmentedPostings::default();
    let mut reader = SnapshotReader::new(input, input.len() as u64).unwrap();
    if postings.extend(&mut reader).is_ok() && reader.finish().is_ok() {
        let mut again = SnapshotReader::new(input, input.len() as u64).unwrap();
        let _ = postings.extend(&mut again);
        postings.merge();
    }
}

/// Reads a segment of vectors, twice, so that the second replaces the first.
pub(crate) fn vectors(input: &[u8]) {
    let space = EmbeddingSpace::cosine("fuzz", 8);
    let mut index: FlatIndex<(u64, i64), i64> = FlatIndex::lean(&space);
    for _ in 0..2 {
        let mut reader = SnapshotReader::new(input, input.len() as u64).unwrap();
        if index.extend(&mut reader, |[high, low], [row, group, _]| ((high ^ low, row), group)).is_err() {
            return;
        }
        if reader.finish().is_err() {
            return;
        }
    }
    index.finish_extending();
}
