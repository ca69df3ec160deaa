#![doc = include_str!("../README.md")]

#[cfg(feature = "extractors")]
mod chat;
mod entity;
mod extraction;
mod extractor;
mod forward;
mod likely_names;
mod lookup;
mod memory;
mod ordinary_words;
mod query;
mod rows;
#[cfg(feature = "extractors")]
mod rules;
mod store;
mod subgraph;
mod surnames;
mod titles;
mod walk;
mod words;

#[cfg(feature = "extractors")]
pub use chat::ChatExtractor;
pub use entity::{EntityId, EntityKind};
pub use extraction::{Extraction, ExtractionLimits, Mention, Relation};
pub use extractor::GraphExtractor;
pub use likely_names::likely_names;
pub use lookup::names_in;
pub use memory::MemoryGraphStore;
pub use query::{GraphQuery, Seeds};
pub use rows::{AliasRow, EdgeRow, GraphRows, MentionRow};
#[cfg(feature = "extractors")]
pub use rules::{CO_OCCURS, RuleExtractor};
pub use store::{GraphEntry, GraphStats, GraphStore, GraphStoreExt};
pub use subgraph::{Edge, Entity, Subgraph};
pub use walk::{Ask, Walk};
