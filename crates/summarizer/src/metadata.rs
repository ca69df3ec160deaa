//! The topic, the entities and the emotion of a turn.

mod chat;
mod emotion;
mod entities;
mod rules;
mod types;

pub use chat::ChatMetadata;
pub use emotion::Emotions;
pub use rules::RuleMetadata;
pub use types::{Described, MetadataExtractor, TurnMetadata};
