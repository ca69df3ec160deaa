//! Collects the reply of a model while it is passed on.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;

/// Maximum number of choices that are tracked.
const MAX_CHOICES: u64 = 1024;

/// Collects a streamed reply. Of several choices, the text of the first is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReplyAccumulator {
    text: String,
    /// Maximum number of bytes of the text that are kept.
    max_bytes: usize,
    /// True if there was more.
    is_cut: bool,
    /// The choices that have begun, and those that have ended.
    begun: BTreeSet<u64>,
    ended: BTreeSet<u64>,
    calls: bool,
    done: bool,
    failed: bool,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Chunk {
    choices: Option<Vec<ReplyChoice>>,
    error: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ReplyChoice {
    index: Option<u64>,
    delta: Option<Message>,
    message: Option<Message>,
    finish_reason: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Message {
    content: Option<Value>,
    tool_calls: Option<Value>,
    function_call: Option<Value>,
}

impl ReplyAccumulator {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self {
            text: String::new(),
            max_bytes,
            is_cut: false,
            begun: BTreeSet::new(),
            ended: BTreeSet::new(),
            calls: false,
            done: false,
            failed: false,
        }
    }

    /// Adds the data of an event. Data of another form is ignored.
    pub(super) fn event(&mut self, data: &str) {
        if data.trim() == "[DONE]" {
            self.done = true;
        } else if let Ok(chunk) = serde_json::from_str::<Chunk>(data) {
            self.chunk(chunk);
        }
    }

    /// Adds a reply that is not streamed.
    pub(super) fn completion(&mut self, body: &[u8]) {
        if let Ok(chunk) = serde_json::from_slice::<Chunk>(body) {
            self.done = chunk.choices.as_ref().is_some_and(|choices| !choices.is_empty());
            self.chunk(chunk);
        }
    }

    fn chunk(&mut self, chunk: Chunk) {
        self.failed |= chunk.error.is_some_and(|error| !error.is_null());
        for choice in chunk.choices.unwrap_or_default() {
            let index = choice.index.unwrap_or(0);
            if index >= MAX_CHOICES {
                continue;
            }
            self.begun.insert(index);
            if choice.finish_reason.as_ref().and_then(Value::as_str).is_some_and(|reason| !reason.is_empty()) {
                self.ended.insert(index);
            }
            let Some(message) = choice.delta.or(choice.message).filter(|_| index == 0) else { continue };
            match message.content {
                Some(Value::String(text)) => self.say(&text),
                Some(parts @ Value::Array(_)) => self.say(&super::body::content(&parts.to_string())),
                _ => {}
            }
            let is_there = |value: &Value| value.as_array().is_none_or(|calls| !calls.is_empty()) && !value.is_null();
            self.calls |= [message.tool_calls, message.function_call].iter().flatten().any(is_there);
        }
    }

    fn say(&mut self, text: &str) {
        let fits = text.floor_char_boundary(self.max_bytes - self.text.len());
        // Text after a gap would read as if nothing was missing.
        if !self.is_cut {
            self.text.push_str(&text[..fits]);
        }
        self.is_cut |= fits < text.len();
    }

    /// Marks the text as incomplete.
    pub(super) fn mark_cut(&mut self) {
        self.is_cut = true;
    }

    /// Returns true if the text is incomplete.
    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The text for the user so far.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns true if the reply is complete: each choice that began has ended, or the service said so.
    pub(super) fn is_whole(&self) -> bool {
        self.done || (!self.ended.is_empty() && self.begun == self.ended)
    }

    /// Returns true if the reply calls tools: then the final answer comes later.
    pub(super) fn calls_tools(&self) -> bool {
        self.calls
    }

    /// Returns true if the service reported an error in the reply.
    pub(super) fn has_failed(&self) -> bool {
        self.failed
    }
}

#[cfg(test)]
mod tests;
