#![doc = include_str!("../README.md")]

mod chat;
mod entity;
mod extraction;
mod extractor;
mod forward;
mod lookup;
mod memory;
mod query;
mod rows;
mod rules;
mod store;
mod subgraph;
mod titles;
mod walk;
mod words;

pub use chat::ChatExtractor;
pub use entity::{EntityId, EntityKind};
pub use extraction::{Extraction, ExtractionLimits, Mention, Relation};
pub use extractor::GraphExtractor;
pub use lookup::names_in;
pub use memory::MemoryGraphStore;
pub use query::{GraphQuery, Seeds};
pub use rows::{AliasRow, EdgeRow, MentionRow, Rows};
pub use rules::{CO_OCCURS, RuleExtractor};
pub use store::{GraphEntry, GraphStats, GraphStore, GraphStoreExt};
pub use subgraph::{Edge, Entity, Subgraph};
pub use walk::{Ask, Walk};
