#![doc = include_str!("../README.md")]

mod analysis;
mod as_of;
mod audit;
mod blocking;
mod date_terms;
mod embedding;
mod gate;
mod indexed_text;
mod kept_out;
mod kept_out_ledger;
mod pages;
mod pending;
mod readable;
mod repetition_writes;
mod repetitions;
mod retention;
mod screening;
mod store;
mod turn;
mod vectors;
pub mod verb;
mod write;

pub use analysis::Analysis;
pub use audit::Auditor;
pub use blocking::{current_runtime, run_blocking};
pub use date_terms::{date_clauses, index_fingerprint, is_date_term};
pub use embedding::{EmbeddingBackend, EmbeddingBackends};
pub use indexed_text::indexed_text;
pub use kept_out::KeptOutValue;
pub use pages::Pages;
pub use repetitions::{MessageKey, REPETITIONS, count_repetition, is_countable, message_of, repetitions};
pub use retention::{RetentionPolicy, RetentionRule, inherit_expiry, parse_time_to_live};
pub use store::{IndexedStore, StoreSet};
pub use turn::Turn;
