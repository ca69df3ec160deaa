//! A claim: the match of one rule in one sentence, before it becomes a fact.

use memory_engine_core::{Language, RuleId, Timestamp};

use crate::fact::types::Polarity;

/// A value for a slot that a rule extracted from a sentence.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Claim {
    pub(super) rule: RuleId,
    pub(super) slot: String,
    pub(super) value: String,
    pub(super) polarity: Polarity,
    pub(super) language: Language,
    /// True if it ends the former value of the slot, even for a relative that is not unique, such as a sister.
    pub(super) replaces: bool,
    pub(super) valid_from: Option<Timestamp>,
    pub(super) valid_until: Option<Timestamp>,
}
