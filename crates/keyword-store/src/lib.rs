#![doc = include_str!("../README.md")]

mod analyzer;
mod bm25;
mod distinct_terms;
mod memory;
mod postings;
mod store;

pub use analyzer::{Analyzer, TextAnalyzer, WordSpan, words};
pub use bm25::{Bm25, Bm25Candidate};
pub use distinct_terms::DistinctTerms;
pub use memory::MemoryKeywordStore;
pub use postings::{FoundDocument, SegmentedPostings};
pub use store::{Clause, KeywordEntry, KeywordQuery, KeywordStore, WeightedTerm};
