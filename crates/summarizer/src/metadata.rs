//! Topic, entities and emotion of turns, by a model or by rules.

mod chat;
mod emotion;
mod entities;
mod rules;
mod types;

pub use chat::ChatMetadata;
pub use rules::RuleMetadata;
pub use types::{Described, MetadataExtractor, TurnMetadata};
pub(crate) use types::{valid, valid_labels};
