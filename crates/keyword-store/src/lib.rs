#![doc = include_str!("../README.md")]

mod analyzer;
mod bm25;
mod memory;
pub mod packed;
mod postings;
mod store;
mod wanted;

pub use analyzer::{Analyzer, TextAnalyzer, Word, words};
pub use bm25::{Bm25, Candidate};
pub use memory::MemoryKeywordStore;
pub use postings::SegmentedPostings;
pub use store::{Clause, KeywordEntry, KeywordQuery, KeywordStore, WeightedTerm};
pub use wanted::Wanted;
