//! A part of a context.

use memory_engine_core::{Error, Record, RecordId, Timestamp, enum_names};
use serde::{Deserialize, Serialize};

use crate::block::Rendered;

/// What gives way when a layer holds more than its budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overflow {
    /// The oldest items, by their time; of one time those that come first.
    #[default]
    DropOldest,
    /// The items of the lowest score; of one score those that come last.
    DropLowestScore,
    /// The end: the item that does not fit ends behind a sentence, and what comes after it is left out.
    TruncateAtSentence,
    /// Nothing. A context that cannot hold it whole is refused.
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

/// Something in a layer: a message, a memory, a paragraph. Its text is written as it is.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Item {
    /// The record that it shows, if it shows one.
    pub id: Option<RecordId>,
    /// What is written.
    pub text: String,
    /// How much it matters, for layers that drop the lowest score.
    pub score: f64,
    /// When it was, for layers that drop the oldest.
    pub time: Timestamp,
}

impl Item {
    /// A text.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A text that shows a record, of the record's time.
    pub fn of(record: &Record, text: impl Into<String>) -> Self {
        Self { id: Some(record.id), time: record.occurred_at, ..Self::new(text) }
    }

    /// How much it matters.
    #[must_use]
    pub fn with_score(mut self, score: f64) -> Self {
        self.score = score;
        self
    }

    /// When it was.
    #[must_use]
    pub fn at(mut self, time: Timestamp) -> Self {
        self.time = time;
        self
    }
}

/// A part of a context: its items under a heading, within a budget, and what gives way when they are too many.
///
/// A layer without items, or none that fits, is not written at all: never an empty heading. Items are written in the order
/// in which they are given, whichever of them are dropped.
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
    /// What it is called in reports.
    pub name: String,
    /// How many tokens it may have; what others leave can come on top.
    pub budget: usize,
    /// Which layers are filled first: those of the highest priority, and of equal ones the first.
    pub priority: i32,
    /// What gives way.
    pub overflow: Overflow,
    /// Whether it stays the same from message to message, so that it comes before all that does not.
    pub stable: bool,
    /// What is written before the first item, line end included.
    pub heading: String,
    /// What is written between two items.
    pub separator: String,
    /// What it holds.
    pub items: Vec<Item>,
}

impl Layer {
    /// A layer without items, that drops the oldest, one item a line.
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

    /// One text that ends behind a sentence where it is too long. An empty text makes an empty layer.
    pub fn text(name: impl Into<String>, budget: usize, text: impl Into<String>) -> Self {
        let text = text.into();
        let item = (!text.is_empty()).then(|| Item::new(text));
        Self::new(name, budget).with_overflow(Overflow::TruncateAtSentence).with_items(item)
    }

    /// A block that was laid out within a budget of its own, such as a [`GatewayBlock`](crate::GatewayBlock): there whole or
    /// not at all.
    pub fn block(name: impl Into<String>, budget: usize, block: &Rendered) -> Self {
        Self { overflow: Overflow::DropOldest, ..Self::text(name, budget, block.text.as_str()) }
    }

    /// Another priority; 0 is the usual one.
    #[must_use]
    pub fn with_priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// Another rule for what gives way.
    #[must_use]
    pub fn with_overflow(mut self, overflow: Overflow) -> Self {
        self.overflow = overflow;
        self
    }

    /// It stays the same from message to message.
    #[must_use]
    pub fn stable(mut self) -> Self {
        self.stable = true;
        self
    }

    /// What is written before the first item, line end included.
    #[must_use]
    pub fn with_heading(mut self, heading: impl Into<String>) -> Self {
        self.heading = heading.into();
        self
    }

    /// What is written between two items; a line end, unless told otherwise.
    #[must_use]
    pub fn with_separator(mut self, separator: impl Into<String>) -> Self {
        self.separator = separator.into();
        self
    }

    /// Adds items behind those that are there.
    #[must_use]
    pub fn with_items(mut self, items: impl IntoIterator<Item = Item>) -> Self {
        self.items.extend(items);
        self
    }
}
