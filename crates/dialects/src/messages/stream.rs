//! Chat stream to Messages events.

use serde_json::{Value, json};

use super::reply::{error, stop_reason, usage};
use crate::{
    reply::{Item, Usage},
    steps::{ItemSplitter, Step},
};

/// Converts the chunks of a chat stream to the events of a Messages stream.
///
/// Each event is an object. The SSE field `event` is its `type`, the field `data` is the object.
#[derive(Debug, Default)]
pub struct EventStream {
    splitter: ItemSplitter,
    is_started: bool,
    is_ended: bool,
}

impl EventStream {
    /// A stream without chunks.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the JSON of one `data:` line, except `[DONE]`, and returns the events that follow from it.
    pub fn push(&mut self, chunk: &Value) -> Vec<Value> {
        if self.is_ended {
            return Vec::new();
        }
        if chunk.get("error").is_some_and(|error| !error.is_null()) {
            let code = chunk["error"]["code"].as_u64().and_then(|code| u16::try_from(code).ok());
            self.is_ended = true;
            return vec![error(code.unwrap_or(500), chunk)];
        }
        let mut events = Vec::new();
        if !self.is_started {
            self.is_started = true;
            self.splitter.start(chunk);
            events.push(self.message_start());
        }
        events.extend(self.splitter.push(chunk).iter().map(event));
        events
    }

    /// Ends the stream, at `[DONE]` or when the connection is closed. Without a finish reason the last event is an
    /// error, because the reply is incomplete.
    pub fn finish(&mut self) -> Vec<Value> {
        if self.is_ended {
            return Vec::new();
        }
        self.is_ended = true;
        let Some(finish_reason) = self.splitter.finish_reason.clone() else {
            return vec![stream_error("The upstream ended the stream before the reply was complete.")];
        };
        let steps = match self.splitter.finish() {
            Ok(steps) => steps,
            Err(message) => return vec![stream_error(message)],
        };
        let has_calls = self.splitter.items().any(|item| matches!(item, Item::ToolCall { .. }));
        let stop_sequence = &self.splitter.stop_sequence;
        let stop_reason = stop_reason(&finish_reason, has_calls, stop_sequence.is_some());
        let mut events: Vec<Value> = steps.iter().map(event).collect();
        events.push(json!({
            "type": "message_delta",
            "delta": {"stop_reason": stop_reason, "stop_sequence": stop_sequence},
            "usage": usage(self.splitter.usage),
        }));
        events.push(json!({"type": "message_stop"}));
        events
    }

    fn message_start(&self) -> Value {
        json!({"type": "message_start", "message": {
            "id": format!("msg_{}", self.splitter.id),
            "type": "message",
            "role": "assistant",
            "model": self.splitter.model,
            "content": [],
            "stop_reason": null,
            "stop_sequence": null,
            "usage": usage(Usage::default()),
        }})
    }
}

fn stream_error(message: &str) -> Value {
    error(500, &json!({"error": {"message": message}}))
}

fn event(step: &Step) -> Value {
    match step {
        Step::Open { index, item: Item::Text(_) | Item::Refusal(_) } => {
            json!({"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}})
        }
        Step::Open { index, item: Item::ToolCall { call_id, name, .. } } => {
            let block = json!({"type": "tool_use", "id": call_id, "name": name, "input": {}});
            json!({"type": "content_block_start", "index": index, "content_block": block})
        }
        Step::Delta { index, delta, is_call: true, .. } => {
            let delta = json!({"type": "input_json_delta", "partial_json": delta});
            json!({"type": "content_block_delta", "index": index, "delta": delta})
        }
        Step::Delta { index, delta, is_call: false, .. } => {
            let delta = json!({"type": "text_delta", "text": delta});
            json!({"type": "content_block_delta", "index": index, "delta": delta})
        }
        Step::Close { index, .. } => json!({"type": "content_block_stop", "index": index}),
    }
}
