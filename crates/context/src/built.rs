//! The result of a context plan: the text, and a report for each layer.

use memory_engine_core::{Error, RecordId, enum_names};
use serde::{Deserialize, Serialize};

use crate::layer::Overflow;

/// A context with a report for each of its layers.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct BuiltContext {
    /// The text.
    pub text: String,
    /// Number of tokens of the whole text.
    pub tokens: usize,
    /// Maximum number of tokens.
    pub limit: usize,
    /// The name of the token counter.
    pub counter: String,
    /// Length of the stable prefix, in bytes: the text of the stable layers.
    pub stable_bytes: usize,
    /// One report for each layer, in the order in which they were added.
    pub layers: Vec<LayerReport>,
}

impl BuiltContext {
    /// Returns the text of the stable layers. It changes only if they do, so that a service can cache this prefix.
    pub fn stable(&self) -> &str {
        &self.text[..self.stable_bytes]
    }

    /// Returns the report of the layer with this name.
    pub fn layer(&self, name: &str) -> Option<&LayerReport> {
        self.layers.iter().find(|layer| layer.name == name)
    }
}

/// The tokens that a layer used, and the items in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LayerReport {
    /// The name of the layer.
    pub name: String,
    /// The layer's own budget, in tokens.
    pub budget: usize,
    /// Tokens that layers filled before this one did not use, in addition to the budget.
    pub flowed: usize,
    /// Tokens of the layer: the sum over its heading, items and separators. 0 if the layer is left out.
    pub tokens: usize,
    /// The rule by which items are dropped.
    pub overflow: Overflow,
    /// True if the layer belongs to the stable prefix.
    pub stable: bool,
    /// Number of items in the text.
    pub taken: usize,
    /// The records shown by these items, in the order of the text.
    pub included: Vec<RecordId>,
    /// The items that are not in the text, in the order given.
    pub left_out: Vec<LeftOut>,
    /// True if the last item in the text is cut.
    pub cut: bool,
}

/// An item that is not in the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Index among the layer's items.
    pub place: usize,
    /// The record that the item shows, if any.
    pub id: Option<RecordId>,
    /// The reason.
    pub reason: LeftOutReason,
}

/// The reason why an item is not in the context. [`Overflow`] decides which items a layer drops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LeftOutReason {
    /// The budget of the layer is used up.
    Layer,
    /// The limit of the whole context is reached.
    Whole,
    /// The item alone is larger than the budget of its layer.
    TooLarge,
}

enum_names! {
    LeftOutReason, "reason" {
        Layer => "layer",
        Whole => "whole",
        TooLarge => "too_large",
    }
}
