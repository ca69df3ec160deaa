#![doc = include_str!("../README.md")]

mod analysis;
mod blocking;
mod date_terms;
mod embedding;
mod indexed_text;
mod pending;
mod store;
mod vectors;
mod write;

pub use analysis::Analysis;
pub use blocking::run_blocking;
pub use date_terms::{date_clauses, index_fingerprint};
pub use embedding::{EmbeddingBackend, EmbeddingBackends};
pub use indexed_text::indexed_text;
pub use store::{IndexedStore, Stores};
