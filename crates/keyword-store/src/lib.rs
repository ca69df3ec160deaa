#![doc = include_str!("../README.md")]

mod analyzer;
mod bm25;
mod distinct_terms;
mod memory;
pub mod packed;
mod postings;
mod store;

pub use analyzer::{Analyzer, TextAnalyzer, WordSpan, words};
pub use bm25::{Bm25, Bm25Candidate};
pub use distinct_terms::DistinctTerms;
pub use memory::MemoryKeywordStore;
pub use packed::PackedTerms;
pub use postings::SegmentedPostings;
pub use store::{Clause, KeywordEntry, KeywordQuery, KeywordStore, WeightedTerm};
