//! Splits the chunks of a chat stream into output items. Both dialects turn the steps into their events.
//!
//! A chat stream may interleave the arguments of several tool calls; the other dialects send one item after another.
//! So the first open item is sent as it arrives, and later items are held until it is closed. A text item is closed as
//! soon as another item starts, a tool call only at the end of the stream.

use serde_json::Value;

use crate::reply::{Item, Usage, bare_id};

/// A change of an output item. `index` counts the items from 0.
#[derive(Debug)]
pub(crate) enum Step {
    /// The item starts. Its text or arguments are empty.
    Open { index: usize, item: Item },
    /// Text, or a part of the arguments, is appended.
    Delta { index: usize, delta: String, is_call: bool, is_refusal: bool },
    /// The item is complete.
    Close { index: usize, item: Item },
}

#[derive(Debug)]
struct Slot {
    item: Item,
    /// Index of the tool call in the chat stream.
    call_index: Option<u64>,
    /// Number of bytes of the content that were sent. Nothing before the item is open.
    sent: Option<usize>,
}

/// The state of a chat stream.
#[derive(Debug, Default)]
pub(crate) struct ItemSplitter {
    slots: Vec<Slot>,
    current: usize,
    pub(crate) id: String,
    pub(crate) model: String,
    pub(crate) created: u64,
    pub(crate) finish_reason: Option<String>,
    pub(crate) stop_sequence: Option<String>,
    pub(crate) usage: Usage,
}

impl ItemSplitter {
    /// Stores id, model and creation time of the first chunk.
    pub(crate) fn start(&mut self, chunk: &Value) {
        self.id = bare_id(chunk);
        chunk["model"].as_str().unwrap_or("").clone_into(&mut self.model);
        self.created = chunk["created"].as_u64().unwrap_or(0);
    }

    /// Adds a chunk and returns the steps that it allows.
    pub(crate) fn push(&mut self, chunk: &Value) -> Vec<Step> {
        if chunk["usage"].is_object() {
            self.usage = Usage::read(&chunk["usage"]);
        }
        let choices = chunk["choices"].as_array().into_iter().flatten();
        for choice in choices.filter(|choice| choice["index"].as_u64().unwrap_or(0) == 0) {
            let delta = &choice["delta"];
            self.add_text(delta["content"].as_str().unwrap_or(""), Item::Text(String::new()));
            self.add_text(delta["refusal"].as_str().unwrap_or(""), Item::Refusal(String::new()));
            for (position, call) in (0..).zip(delta["tool_calls"].as_array().into_iter().flatten()) {
                self.add_call(call["index"].as_u64().unwrap_or(position), call);
            }
            if let Some(reason) = choice["finish_reason"].as_str() {
                self.finish_reason = Some(reason.to_owned());
                self.stop_sequence = choice["stop_reason"].as_str().map(str::to_owned);
            }
        }
        self.steps(false)
    }

    /// Sends and closes all items. Fails if a tool call has no name.
    pub(crate) fn finish(&mut self) -> Result<Vec<Step>, &'static str> {
        let is_nameless = |slot: &Slot| matches!(&slot.item, Item::ToolCall { name, .. } if name.is_empty());
        if self.slots.iter().any(is_nameless) {
            return Err("The upstream sent a tool call without a name.");
        }
        Ok(self.steps(true))
    }

    /// All items, in order.
    pub(crate) fn items(&self) -> impl Iterator<Item = &Item> {
        self.slots.iter().map(|slot| &slot.item)
    }

    fn add_text(&mut self, delta: &str, empty: Item) {
        if delta.is_empty() {
            return;
        }
        let last = self.slots.last_mut().map(|slot| &mut slot.item);
        match (last, empty) {
            (Some(Item::Text(text)), Item::Text(_)) | (Some(Item::Refusal(text)), Item::Refusal(_)) => {
                text.push_str(delta);
            }
            (_, mut item) => {
                if let Item::Text(text) | Item::Refusal(text) = &mut item {
                    text.push_str(delta);
                }
                self.slots.push(Slot { item, call_index: None, sent: None });
            }
        }
    }

    fn add_call(&mut self, index: u64, call: &Value) {
        let new_id = call["id"].as_str().unwrap_or("");
        let new_name = call["function"]["name"].as_str().unwrap_or("");
        let delta = call["function"]["arguments"].as_str().unwrap_or("");
        let default_id = format!("call_{}_{index}", self.id);
        let slot = self.slots.iter_mut().find(|slot| slot.call_index == Some(index));
        let Some(slot) = slot else {
            let call_id = if new_id.is_empty() { default_id } else { new_id.to_owned() };
            let item = Item::ToolCall { call_id, name: new_name.to_owned(), arguments: delta.to_owned() };
            self.slots.push(Slot { item, call_index: Some(index), sent: None });
            return;
        };
        let is_open = slot.sent.is_some();
        let Item::ToolCall { call_id, name, arguments } = &mut slot.item else { return };
        // Id and name are part of the opening event: later values cannot be sent.
        if !is_open && !new_id.is_empty() {
            new_id.clone_into(call_id);
        }
        if !is_open && !new_name.is_empty() {
            new_name.clone_into(name);
        }
        arguments.push_str(delta);
    }

    fn steps(&mut self, is_end: bool) -> Vec<Step> {
        let mut steps = Vec::new();
        let count = self.slots.len();
        while let Some(slot) = self.slots.get_mut(self.current) {
            let index = self.current;
            let (content, empty) = match &slot.item {
                Item::Text(text) => (text, Item::Text(String::new())),
                Item::Refusal(text) => (text, Item::Refusal(String::new())),
                Item::ToolCall { name, .. } if name.is_empty() => break,
                Item::ToolCall { call_id, name, arguments } => {
                    let (call_id, name) = (call_id.clone(), name.clone());
                    (arguments, Item::ToolCall { call_id, name, arguments: String::new() })
                }
            };
            if slot.sent.is_none() {
                steps.push(Step::Open { index, item: empty });
            }
            let delta = content.get(slot.sent.unwrap_or(0)..).unwrap_or("");
            slot.sent = Some(content.len());
            let is_call = slot.call_index.is_some();
            if !delta.is_empty() {
                let is_refusal = matches!(slot.item, Item::Refusal(_));
                steps.push(Step::Delta { index, delta: delta.to_owned(), is_call, is_refusal });
            }
            if !is_end && (is_call || index + 1 == count) {
                break;
            }
            steps.push(Step::Close { index, item: slot.item.clone() });
            self.current += 1;
        }
        steps
    }
}
