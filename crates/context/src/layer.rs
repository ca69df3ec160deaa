//! A layer of a context: items under a heading, within a budget.

use memory_engine_core::{Error, Record, RecordId, Timestamp, enum_names};
use serde::{Deserialize, Serialize};

use crate::block::RenderedBlock;

/// The rule for a layer whose items exceed its budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overflow {
    /// Drops the oldest items by time; among items of the same time, the first ones.
    #[default]
    DropOldest,
    /// Drops the items with the lowest score; among items of the same score, the last ones.
    DropLowestScore,
    /// Cuts the first item that does not fit after a sentence, and drops all items after it.
    TruncateAtSentence,
    /// Drops nothing. Building the context fails if the layer does not fit.
    NeverCut,
}

enum_names! {
    Overflow, "overflow" {
        DropOldest => "drop_oldest",
        DropLowestScore => "drop_lowest_score",
        TruncateAtSentence => "truncate_at_sentence",
        NeverCut => "never_cut",
    }
}

/// An item of a layer, such as a message, a memory or a paragraph. Its text is written unchanged.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Item {
    /// The record that the item shows, if any. Default: `None`.
    pub id: Option<RecordId>,
    /// The text.
    pub text: String,
    /// Score for [`Overflow::DropLowestScore`]: higher scores are kept longer. Default: 0.
    pub score: f64,
    /// Time for [`Overflow::DropOldest`]. Default: the epoch.
    pub time: Timestamp,
}

impl Item {
    /// Creates an item with a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Creates an item that shows a record, with the record's time.
    pub fn of(record: &Record, text: impl Into<String>) -> Self {
        Self { id: Some(record.id), time: record.occurred_at, ..Self::new(text) }
    }

    memory_engine_core::setters! {
        #![must_use]
        /// Sets the score.
        with_score(score: f64);
        /// Sets the time.
        at(time: Timestamp);
    }
}

/// A part of a context: items under a heading, within a budget.
///
/// A layer without an item that fits is left out, with its heading. The items that fit are written in the order given.
///
/// ```
/// use memory_engine_context::{ContextPlan, EstimatedTokens, Item, Layer, Overflow};
///
/// let weather = Layer::new("weather", 50)
///     .with_heading("[Weather]\n")
///     .with_overflow(Overflow::TruncateAtSentence)
///     .with_items([Item::new("虹桥小雨，14 度。")]);
/// let context = ContextPlan::new(1000).with_layer(Layer::text("persona", 200, "You are kind.")).with_layer(weather);
/// assert_eq!(context.build(&EstimatedTokens)?.text, "You are kind.\n\n[Weather]\n虹桥小雨，14 度。");
/// # Ok::<(), memory_engine_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Layer {
    /// The name in reports.
    pub name: String,
    /// Maximum number of tokens. Tokens that layers filled earlier did not use are added to it.
    pub budget: usize,
    /// Layers with a higher priority are filled first; among equal ones, in the order added. Default: 0.
    pub priority: i32,
    /// The rule for items that exceed the budget. Default: [`Overflow::DropOldest`].
    pub overflow: Overflow,
    /// True if the layer is the same from message to message. Stable layers come first in the text, so that a service
    /// can cache the prefix of the prompt. Default: false.
    pub stable: bool,
    /// The text before the first item, with its line break. Default: empty.
    pub heading: String,
    /// The text between two items. Default: a line break.
    pub separator: String,
    /// The items.
    pub items: Vec<Item>,
}

impl Layer {
    /// Creates a layer without items. It drops the oldest items and writes one item per line.
    pub fn new(name: impl Into<String>, budget: usize) -> Self {
        Self {
            name: name.into(),
            budget,
            priority: 0,
            overflow: Overflow::default(),
            stable: false,
            heading: String::new(),
            separator: "\n".into(),
            items: Vec::new(),
        }
    }

    /// Creates a layer of one text, which is cut after a sentence if it is too long. An empty text makes an empty
    /// layer.
    pub fn text(name: impl Into<String>, budget: usize, text: impl Into<String>) -> Self {
        let text = text.into();
        let item = (!text.is_empty()).then(|| Item::new(text));
        Self::new(name, budget).with_overflow(Overflow::TruncateAtSentence).with_items(item)
    }

    /// Creates a layer from a rendered block, such as a [`GatewayBlock`](crate::GatewayBlock). It is never cut: it is
    /// either in the text as a whole or left out.
    pub fn block(name: impl Into<String>, budget: usize, block: &RenderedBlock) -> Self {
        Self { overflow: Overflow::DropOldest, ..Self::text(name, budget, block.text.as_str()) }
    }

    memory_engine_core::setters! {
        #![must_use]
        /// Sets the priority.
        with_priority(priority: i32);
        /// Sets the rule for items that exceed the budget.
        with_overflow(overflow: Overflow);
        /// Sets the text before the first item, with its line break.
        with_heading(heading: impl Into<String>) => heading = heading.into();
        /// Sets the text between two items.
        with_separator(separator: impl Into<String>) => separator = separator.into();
    }

    /// Marks the layer as stable: it is the same from message to message.
    #[must_use]
    pub fn stable(mut self) -> Self {
        self.stable = true;
        self
    }

    /// Appends items.
    #[must_use]
    pub fn with_items(mut self, items: impl IntoIterator<Item = Item>) -> Self {
        self.items.extend(items);
        self
    }
}
