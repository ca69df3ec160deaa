#![doc = include_str!("../README.md")]

mod analyzer;
mod bm25;
mod memory;
mod store;

pub use analyzer::{Analyzer, TextAnalyzer, Word, words};
pub use bm25::{Bm25, Candidate};
pub use memory::MemoryKeywordStore;
pub use store::{Clause, KeywordEntry, KeywordQuery, KeywordStore, WeightedTerm};
