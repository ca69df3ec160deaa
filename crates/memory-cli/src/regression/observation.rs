//! The result of a case: the hits of a search, or a block of text with its records.

use memory_engine::{Recall, Record, recall::Degraded};

/// The hits or the block that a case is checked against.
#[derive(Debug)]
pub(crate) enum Observation {
    /// The hits of a search.
    Hits(Recall),
    /// A block of text.
    Block(ObservedBlock),
}

/// A block of text for a model.
#[derive(Debug)]
pub(crate) struct ObservedBlock {
    pub(crate) text: String,
    /// The records in the text.
    pub(crate) records: Vec<Record>,
    /// The records that were recalled because they are relevant: all of an injection, and the related messages in the
    /// context of a companion.
    pub(crate) recalled: Vec<Record>,
    /// The rule of injection that applied.
    pub(crate) rule: Option<&'static str>,
    pub(crate) degraded: Vec<Degraded>,
}

impl Observation {
    /// Returns the stages that failed.
    pub(crate) fn degraded(&self) -> &[Degraded] {
        match self {
            Self::Hits(recall) => &recall.degraded,
            Self::Block(block) => &block.degraded,
        }
    }
}
