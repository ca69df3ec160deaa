//! What was built, and what each layer took of it.

use memory_engine_core::{Error, RecordId, enum_names};
use serde::{Deserialize, Serialize};

use crate::layer::Overflow;

/// A context, and how it came about.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct BuiltContext {
    /// The text.
    pub text: String,
    /// How many tokens it has, counted as a whole.
    pub tokens: usize,
    /// How many it may have.
    pub limit: usize,
    /// What counted.
    pub counter: String,
    /// How many bytes at its beginning are from stable layers.
    pub stable_bytes: usize,
    /// What each layer took, in the order in which they were added.
    pub layers: Vec<LayerReport>,
}

impl BuiltContext {
    /// The beginning that stays the same as long as the stable layers do.
    pub fn stable(&self) -> &str {
        &self.text[..self.stable_bytes]
    }

    /// What the layer of this name took.
    pub fn layer(&self, name: &str) -> Option<&LayerReport> {
        self.layers.iter().find(|layer| layer.name == name)
    }
}

/// What a layer took.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LayerReport {
    /// Its name.
    pub name: String,
    /// Its own budget.
    pub budget: usize,
    /// What others had left for it on top.
    pub flowed: usize,
    /// How many tokens its parts have together; 0 when it is not there.
    pub tokens: usize,
    /// What gives way in it.
    pub overflow: Overflow,
    /// Whether it is a part of the beginning that stays the same.
    pub stable: bool,
    /// How many of its items are there.
    pub taken: usize,
    /// The records that these show, in the order of the text.
    pub included: Vec<RecordId>,
    /// What is not there, in the order in which it was given.
    pub left_out: Vec<LeftOut>,
    /// Whether the last item that is there ends before its end.
    pub cut: bool,
}

/// An item that is not in the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Its place among the layer's items, from 0.
    pub place: usize,
    /// The record that it shows, if it shows one.
    pub id: Option<RecordId>,
    /// Why it is not there.
    pub reason: LeftOutReason,
}

/// The reason why an item is not in the context. [`Overflow`] decides which items of a layer are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LeftOutReason {
    /// The layer is full.
    Layer,
    /// The whole context is full.
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
