#![doc = include_str!("../README.md")]

mod chunk;
mod echo;
mod fact;
mod language;
mod sentence;
mod spoken;

pub use chunk::{CHUNKER, Chunker};
pub use echo::{is_echo, without_injected};
pub use fact::{
    Cardinality, ChatFacts, Evidence, Fact, FactExtractor, FactKind, FactPatterns, Facts, Polarity, RuleFacts, fact_keys,
    render,
};
pub use language::Language;
pub use sentence::sentences;
