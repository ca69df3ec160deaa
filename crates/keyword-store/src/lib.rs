#![doc = include_str!("../README.md")]

mod analyzer;
mod bm25;
mod memory;
pub mod packed;
mod postings;
mod query_terms;
mod store;

pub use analyzer::{Analyzer, TextAnalyzer, Word, words};
pub use bm25::{Bm25, Candidate};
pub use memory::MemoryKeywordStore;
pub use packed::PackedTerms;
pub use postings::SegmentedPostings;
pub use query_terms::QueryTerms;
pub use store::{Clause, KeywordEntry, KeywordQuery, KeywordStore, WeightedTerm};
