//! A context of layers under one limit.

use std::cmp::Reverse;

use memory_engine_core::{Error, Result};

use crate::{
    built::{BuiltContext, LayerReport, LeftOutReason},
    filling::Filled,
    layer::{Layer, Overflow},
    tokens::TokenCounter,
};

/// A context in the making: layers, and how many tokens they may have together.
///
/// - **The order in the text**: first the layers that are stable, then the others, both in the order in which they are added.
///   As long as the stable ones hold the same, the text begins with the same bytes, and a service that keeps the beginning
///   of a prompt has it ready.
/// - **The order of filling**: what is never cut, so that nothing is in its way; then the stable layers, so that they do not
///   change with the others; then the others. Each of these by priority, the highest first, and of equal ones as they are
///   added.
/// - **What flows**: a layer may have its own budget and what those filled before it have left of theirs. One that is never
///   cut and takes more than its budget takes it from what flows.
/// - **The limit** holds for the text as a whole, as it is counted, whatever the budgets say. Where the parts fit and the
///   whole does not, the layer that was filled last gives way first.
///
/// The same layers give the same text.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct ContextPlan {
    limit: usize,
    layers: Vec<Layer>,
}

impl ContextPlan {
    /// The text between two layers.
    pub const LAYER_SEPARATOR: &str = "\n\n";

    /// A context of so many tokens at the most.
    pub fn new(limit: usize) -> Self {
        Self { limit, layers: Vec::new() }
    }

    /// Adds a layer behind those that are there.
    pub fn with_layer(mut self, layer: Layer) -> Self {
        self.layers.push(layer);
        self
    }

    /// Adds layers behind those that are there.
    pub fn with_layers(mut self, layers: impl IntoIterator<Item = Layer>) -> Self {
        self.layers.extend(layers);
        self
    }

    /// The layers so far.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Builds the context.
    ///
    /// # Errors
    /// `InvalidInput` when what is never cut has more tokens than the limit.
    pub fn build(&self, counter: &dyn TokenCounter) -> Result<BuiltContext> {
        let between = counter.count(Self::LAYER_SEPARATOR);
        let order = self.order();
        let mut filled: Vec<(Filled, usize)> = self.layers.iter().map(|_| Default::default()).collect();
        let (mut room, mut flow) = (self.limit, 0_usize);
        for &place in &order {
            let layer = &self.layers[place];
            let budget = layer.budget.saturating_add(flow);
            let before = if room == self.limit { 0 } else { between };
            let free = room.saturating_sub(before);
            let (most, full) =
                if budget <= free { (budget, LeftOutReason::Layer) } else { (free, LeftOutReason::Whole) };
            let of_this = Filled::of(layer, most, full, counter);
            let spent = if of_this.section.is_empty() { 0 } else { of_this.tokens + before };
            room = room.saturating_sub(spent);
            filled[place] = (of_this, flow);
            flow = budget.saturating_sub(filled[place].0.tokens);
        }
        loop {
            let (text, stable_bytes) = self.written(&filled);
            let tokens = counter.count(&text);
            let Some(excess) = tokens.checked_sub(self.limit).filter(|excess| *excess > 0) else {
                let layers =
                    self.layers.iter().zip(filled).map(|(layer, (filled, flowed))| report(layer, filled, flowed));
                let counter = counter.name().to_owned();
                return Ok(BuiltContext {
                    text,
                    tokens,
                    limit: self.limit,
                    counter,
                    stable_bytes,
                    layers: layers.collect(),
                });
            };
            let may_go = |place: usize| self.layers[place].overflow != Overflow::NeverCut;
            let gives_way = |place: &&usize| may_go(**place) && !filled[**place].0.section.is_empty();
            let Some(&place) = order.iter().rev().find(gives_way) else {
                let message = format!(
                    "what is never cut has {tokens} {}, and the limit is {}; raise the limit or shorten it",
                    counter.name(),
                    self.limit
                );
                return Err(Error::invalid("context", message));
            };
            let (layer, had) = (&self.layers[place], filled[place].0.tokens);
            let less = Filled::of(layer, had.saturating_sub(excess), LeftOutReason::Whole, counter);
            // What costs nothing does not get smaller, and goes as a whole.
            filled[place].0 = if less.tokens < had { less } else { Filled::nothing_of(layer, LeftOutReason::Whole) };
        }
    }

    /// The places of the layers, those that are filled first in front.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.layers.len()).collect();
        order.sort_by_key(|&place| {
            let layer = &self.layers[place];
            (layer.overflow != Overflow::NeverCut, !layer.stable, Reverse(layer.priority))
        });
        order
    }

    /// The text, and how many bytes of it are stable.
    fn written(&self, filled: &[(Filled, usize)]) -> (String, usize) {
        let mut text = String::new();
        let mut stable_bytes = 0;
        for stable in [true, false] {
            for (_, (filled, _)) in self.layers.iter().zip(filled).filter(|(layer, _)| layer.stable == stable) {
                let between = if text.is_empty() || filled.section.is_empty() { "" } else { Self::LAYER_SEPARATOR };
                text.extend([between, filled.section.as_str()]);
            }
            stable_bytes = if stable { text.len() } else { stable_bytes };
        }
        (text, stable_bytes)
    }
}

fn report(layer: &Layer, filled: Filled, flowed: usize) -> LayerReport {
    let included = filled.taken.iter().filter_map(|&place| layer.items[place].id).collect();
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
