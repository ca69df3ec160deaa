//! The binary files of the corpus are of the present format.
#![allow(clippy::unwrap_used, reason = "this is test code: a failed expectation is a panic")]

use memory_engine_core::{Embedding, EmbeddingSpace, RecordId, snapshot::SnapshotWriter};
use memory_engine_fuzz::target;
use memory_engine_keyword_store::SegmentedPostings;
use memory_engine_vector_store::FlatIndex;

const DOCUMENTS: i64 = 40;

fn saved_postings() -> Vec<u8> {
    let mut postings = SegmentedPostings::default();
    for number in 0..DOCUMENTS {
        let id = RecordId::from_bytes([number as u8; 16]);
        let terms = [format!("w{}", number % 7), "common".to_owned()];
        postings.insert(number, id, number % 3, 5, terms.iter().map(|term| (term.as_str(), 1 + number as u32 % 4)));
    }
    let mut out = SnapshotWriter::new(Vec::new()).unwrap();
    postings.save(&mut out).unwrap();
    out.finish().unwrap()
}

fn saved_vectors() -> Vec<u8> {
    let space = EmbeddingSpace::cosine("fuzz", 8);
    let mut index: FlatIndex<(u64, i64), i64> = FlatIndex::lean(&space);
    for number in 0..DOCUMENTS {
        let values = (0..8).map(|axis| ((number * 8 + axis) as f32).sin()).collect();
        index.insert((number as u64, number), number % 3, Embedding::new(values).unwrap());
    }
    let mut out = SnapshotWriter::new(Vec::new()).unwrap();
    index.save(&mut out, 0..usize::MAX, |(high, row), group| ([*high, 0], [*row, group, 0])).unwrap();
    out.finish().unwrap()
}

/// With the variable `MEMORY_FUZZ_WRITE`, rewrites the corpus after a change of the format.
#[test]
fn the_corpus_has_segments_of_the_present_format() {
    for (name, bytes) in [("postings_cache", saved_postings()), ("vectors_cache", saved_vectors())] {
        let folder = target(name).unwrap().corpus_folder();
        let path = folder.join("segment");
        if std::env::var_os("MEMORY_FUZZ_WRITE").is_some() {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&path, &bytes).unwrap();
        }
        assert!(std::fs::read(&path).is_ok_and(|stored| stored == bytes), "{}", path.display());
    }
}
