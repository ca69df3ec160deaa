//! Facts about people, extracted by rules or by a model. Each fact has one value.

pub(crate) mod assertion;
mod chat;
mod claim;
mod clauses;
mod confirmation;
mod dates;
mod extractor;
mod grammar;
mod introductions;
mod patterns;
mod plan;
mod reader;
mod record;
mod relatives;
mod restatements;
mod rules;
mod slot;
mod takebacks;
mod template;
mod types;
mod value;
mod value_key;

pub use chat::ChatFacts;
pub use extractor::{FactExtractor, Facts};
pub use patterns::FactPatterns;
pub use record::render;
pub(crate) use relatives::{canonical_name, is_any_partner, is_partner};
pub use rules::RuleFacts;
pub(crate) use takebacks::{ends_slot, names_slot};
pub use types::{Cardinality, ExtractedFact, FactEvidence, FactKind, Polarity};
pub(crate) use value_key::{is_of_kind, wish_topic};
