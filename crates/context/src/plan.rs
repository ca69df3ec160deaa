//! Builds a context from layers under one token limit.
//!
//! Reasons: `docs/design/decisions/0025-context-limit-counts-the-whole.md`.

use std::cmp::Reverse;

use memory_engine_core::{Error, Result};

use crate::{
    built::{BuiltContext, LayerReport, LeftOutReason},
    filling::FilledLayer,
    layer::{Layer, Overflow},
    tokens::TokenCounter,
};

/// The layers of a context, and the maximum number of tokens of the whole.
///
/// - **Order in the text**: stable layers first, then the others, both in the order in which they are added. As long
///   as the stable layers do not change, the text begins with the same bytes, and a service can cache the prefix of
///   the prompt.
/// - **Order of filling**: first layers that are never cut, then stable layers, so that they do not depend on the
///   others, then the others; within each group by priority, highest first, and then in the order added.
/// - **Unused tokens**: the tokens that a layer does not use are added to the budget of the layer filled next. A layer
///   that is never cut and exceeds its budget uses them up first.
/// - **Limit**: the whole text never exceeds the limit, even if the budgets together do. If the layers fit one by one
///   but the whole text does not, the layer that was filled last is shortened first.
///
/// The same layers always give the same text.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct ContextPlan {
    limit: usize,
    layers: Vec<Layer>,
}

impl ContextPlan {
    /// The text between two layers.
    pub const LAYER_SEPARATOR: &str = "\n\n";

    /// Creates a plan without layers for a context of at most `limit` tokens.
    pub fn new(limit: usize) -> Self {
        Self { limit, layers: Vec::new() }
    }

    /// Appends a layer.
    pub fn with_layer(mut self, layer: Layer) -> Self {
        self.layers.push(layer);
        self
    }

    /// Appends layers.
    pub fn with_layers(mut self, layers: impl IntoIterator<Item = Layer>) -> Self {
        self.layers.extend(layers);
        self
    }

    /// Returns the layers, in the order added.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Builds the context.
    ///
    /// # Errors
    /// `InvalidInput` if the layers that are never cut exceed the limit.
    pub fn build(&self, counter: &dyn TokenCounter) -> Result<BuiltContext> {
        let order = self.filling_order();
        let mut filled = self.fill(&order, counter);
        loop {
            let (text, stable_bytes) = self.join(&filled);
            let tokens = counter.count(&text);
            if tokens <= self.limit {
                let layers = self.layers.iter().zip(filled);
                let reports = layers.map(|(layer, (filled, unused))| report(layer, filled, unused)).collect();
                let counter = counter.name().to_owned();
                return Ok(BuiltContext { text, tokens, limit: self.limit, counter, stable_bytes, layers: reports });
            }
            let last_filled = order.iter().rev().copied().find(|&index| {
                self.layers[index].overflow != Overflow::NeverCut && !filled[index].0.section.is_empty()
            });
            let Some(index) = last_filled else { return Err(self.limit_error(tokens, counter)) };
            let previous_tokens = filled[index].0.tokens;
            let max_tokens = previous_tokens.saturating_sub(tokens - self.limit);
            let layer = &self.layers[index];
            let shortened = FilledLayer::new(layer, max_tokens, LeftOutReason::Whole, counter);
            // A layer that cannot get smaller, because its items have no tokens, is left out.
            filled[index].0 = if shortened.tokens < previous_tokens {
                shortened
            } else {
                FilledLayer::empty(layer, LeftOutReason::Whole)
            };
        }
    }

    /// Fills each layer within its budget and the rest of the limit. Returns the layers in the order added, each with
    /// the unused tokens that were added to its budget.
    fn fill(&self, order: &[usize], counter: &dyn TokenCounter) -> Vec<(FilledLayer, usize)> {
        let separator_tokens = counter.count(Self::LAYER_SEPARATOR);
        let mut filled: Vec<(FilledLayer, usize)> = self.layers.iter().map(|_| Default::default()).collect();
        let mut remaining = self.limit;
        let mut unused = 0_usize;
        for &index in order {
            let layer = &self.layers[index];
            let budget = layer.budget.saturating_add(unused);
            let separator = if remaining == self.limit { 0 } else { separator_tokens };
            let free = remaining.saturating_sub(separator);
            let reason = if budget <= free { LeftOutReason::Layer } else { LeftOutReason::Whole };
            let filled_layer = FilledLayer::new(layer, budget.min(free), reason, counter);
            if !filled_layer.section.is_empty() {
                remaining = remaining.saturating_sub(filled_layer.tokens + separator);
            }
            let next_unused = budget.saturating_sub(filled_layer.tokens);
            filled[index] = (filled_layer, unused);
            unused = next_unused;
        }
        filled
    }

    fn limit_error(&self, tokens: usize, counter: &dyn TokenCounter) -> Error {
        let message = format!(
            "the layers that are never cut have {tokens} {}, and the limit is {}; raise the limit or shorten them",
            counter.name(),
            self.limit
        );
        Error::invalid("context", message)
    }

    /// Returns the indexes of the layers in the order in which they are filled.
    fn filling_order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.layers.len()).collect();
        order.sort_by_key(|&index| {
            let layer = &self.layers[index];
            (layer.overflow != Overflow::NeverCut, !layer.stable, Reverse(layer.priority))
        });
        order
    }

    /// Returns the whole text, and the length of its stable prefix in bytes.
    fn join(&self, filled: &[(FilledLayer, usize)]) -> (String, usize) {
        let mut text = String::new();
        self.append(&mut text, filled, true);
        let stable_bytes = text.len();
        self.append(&mut text, filled, false);
        (text, stable_bytes)
    }

    /// Appends the layers that are stable, or those that are not.
    fn append(&self, text: &mut String, filled: &[(FilledLayer, usize)], stable: bool) {
        for (layer, (filled, _)) in self.layers.iter().zip(filled) {
            if layer.stable != stable || filled.section.is_empty() {
                continue;
            }
            if !text.is_empty() {
                text.push_str(Self::LAYER_SEPARATOR);
            }
            text.push_str(&filled.section);
        }
    }
}

fn report(layer: &Layer, filled: FilledLayer, flowed: usize) -> LayerReport {
    let included = filled.taken.iter().filter_map(|&index| layer.items[index].id).collect();
    LayerReport {
        name: layer.name.clone(),
        budget: layer.budget,
        flowed,
        tokens: filled.tokens,
        overflow: layer.overflow,
        stable: layer.stable,
        taken: filled.taken.len(),
        included,
        left_out: filled.left_out,
        cut: filled.cut,
    }
}
