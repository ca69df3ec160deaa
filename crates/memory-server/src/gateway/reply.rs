//! Collects the reply of a model while it is passed on.

use std::collections::BTreeSet;

use memory_engine_intake::without_lone_surrogates;
use serde::Deserialize;
use serde_json::Value;

use super::{json::content_text, usage::TokenUsage};

/// Maximum number of choices that are tracked.
const MAX_CHOICES: u64 = 1024;

/// Collects a reply. If it has several choices, only the text of the first one is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReplyAccumulator {
    text: String,
    /// Maximum size of the text in bytes. The rest is dropped.
    max_bytes: usize,
    /// True if a part of the text is missing.
    is_truncated: bool,
    /// Indexes of the choices of which a chunk has arrived.
    started_choices: BTreeSet<u64>,
    /// Indexes of the choices with a finish reason.
    finished_choices: BTreeSet<u64>,
    calls_tools: bool,
    /// True after the end marker of a stream, or a reply that is not streamed.
    is_done: bool,
    has_failed: bool,
    /// The id of a response, with which a later request can continue it.
    response_id: Option<String>,
    /// The ids of the response and of its items, by which a later request can name them.
    stored_ids: Vec<String>,
    /// The part of the reply to which the end of the text belongs.
    last_part: Option<(u64, u64)>,
    /// The tokens that the upstream has reported.
    usage: TokenUsage,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Chunk {
    choices: Option<Vec<ReplyChoice>>,
    error: Option<Value>,
    usage: Value,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ReplyChoice {
    index: Option<u64>,
    delta: Option<ChoiceMessage>,
    message: Option<ChoiceMessage>,
    finish_reason: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ChoiceMessage {
    content: Option<Value>,
    tool_calls: Option<Value>,
    function_call: Option<Value>,
}

impl ReplyAccumulator {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self {
            text: String::new(),
            max_bytes,
            is_truncated: false,
            started_choices: BTreeSet::new(),
            finished_choices: BTreeSet::new(),
            calls_tools: false,
            is_done: false,
            has_failed: false,
            response_id: None,
            stored_ids: Vec::new(),
            last_part: None,
            usage: TokenUsage::default(),
        }
    }

    /// Adds the data of an event. Returns false if the data has another form; then it is ignored.
    pub(super) fn add_event(&mut self, data: &str) -> bool {
        if data.trim() == "[DONE]" {
            self.is_done = true;
            return true;
        }
        let chunk = serde_json::from_str::<Chunk>(&without_lone_surrogates(data));
        chunk.map(|chunk| self.add_chunk(chunk)).is_ok()
    }

    /// Adds a reply that is not streamed.
    pub(super) fn add_completion(&mut self, body: &[u8]) {
        let text = String::from_utf8_lossy(body);
        if let Ok(chunk) = serde_json::from_str::<Chunk>(&without_lone_surrogates(&text)) {
            self.is_done = chunk.choices.as_ref().is_some_and(|choices| !choices.is_empty());
            self.add_chunk(chunk);
        }
    }

    fn add_chunk(&mut self, chunk: Chunk) {
        self.usage.add(&chunk.usage);
        self.has_failed |= chunk.error.is_some_and(|error| !error.is_null());
        for choice in chunk.choices.unwrap_or_default() {
            let index = choice.index.unwrap_or(0);
            if index >= MAX_CHOICES {
                continue;
            }
            self.started_choices.insert(index);
            if choice.finish_reason.as_ref().and_then(Value::as_str).is_some_and(|reason| !reason.is_empty()) {
                self.finished_choices.insert(index);
            }
            let Some(message) = choice.delta.or(choice.message).filter(|_| index == 0) else { continue };
            match message.content {
                Some(Value::String(text)) => self.append(&text),
                Some(parts @ Value::Array(_)) => self.append(&content_text(&parts.to_string())),
                _ => {}
            }
            self.calls_tools |= [message.tool_calls, message.function_call].iter().flatten().any(is_present);
        }
    }

    fn append(&mut self, text: &str) {
        let end = text.floor_char_boundary(self.max_bytes - self.text.len());
        // Text after a gap would read as if nothing was missing.
        if !self.is_truncated {
            self.text.push_str(&text[..end]);
        }
        self.is_truncated |= end < text.len();
    }

    /// Appends the text of a part. Parts are separated as [`content_text`] separates them.
    pub(super) fn append_part(&mut self, part: (u64, u64), text: &str) {
        if text.is_empty() {
            return;
        }
        if self.last_part.is_some_and(|last| last != part) {
            self.append("\n");
        }
        self.last_part = Some(part);
        self.append(text);
    }

    /// Adds a report of tokens: the field `usage` of an event or a reply.
    pub(super) fn add_usage(&mut self, usage: &Value) {
        self.usage.add(usage);
    }

    /// Returns the tokens that the upstream has reported.
    pub(super) fn usage(&self) -> TokenUsage {
        self.usage
    }

    pub(super) fn set_done(&mut self) {
        self.is_done = true;
    }

    pub(super) fn set_failed(&mut self) {
        self.has_failed = true;
    }

    pub(super) fn set_calls_tools(&mut self) {
        self.calls_tools = true;
    }

    pub(super) fn set_response_id(&mut self, id: &str) {
        self.response_id = Some(id.to_owned());
        self.add_stored_id(id);
    }

    /// Adds the id of a response or of one of its items.
    pub(super) fn add_stored_id(&mut self, id: &str) {
        if !self.stored_ids.iter().any(|known| known == id) {
            self.stored_ids.push(id.to_owned());
        }
    }

    /// Returns the ids of the response and of its items, in the order of their arrival.
    pub(super) fn stored_ids(&self) -> &[String] {
        &self.stored_ids
    }

    /// Returns the id of the response.
    pub(super) fn response_id(&self) -> Option<&str> {
        self.response_id.as_deref()
    }

    /// Marks the text as incomplete. Text that arrives later is dropped.
    pub(super) fn mark_truncated(&mut self) {
        self.is_truncated = true;
    }

    /// Returns true if the text is incomplete.
    pub(super) fn is_truncated(&self) -> bool {
        self.is_truncated
    }

    /// Returns the text that has arrived, without thoughts in separate fields.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns true if the reply is complete: every started choice is finished, or the end marker has arrived.
    pub(super) fn is_complete(&self) -> bool {
        self.is_done || (!self.finished_choices.is_empty() && self.started_choices == self.finished_choices)
    }

    /// Returns true if the reply calls tools. The final answer is then another reply.
    pub(super) fn calls_tools(&self) -> bool {
        self.calls_tools
    }

    /// Returns true if the service reported an error in the reply.
    pub(super) fn has_failed(&self) -> bool {
        self.has_failed
    }
}

/// Returns true if the value is neither null nor an empty list.
fn is_present(value: &Value) -> bool {
    !value.is_null() && value.as_array().is_none_or(|calls| !calls.is_empty())
}

#[cfg(test)]
mod tests;
