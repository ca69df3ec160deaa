//! Chat stream to Responses events.

use serde_json::{Map, Value, json};

use super::reply::{content_part, echo, incomplete_reason, item_id, output_item, response, usage};
use crate::{
    error::upstream_message,
    reply::Item,
    steps::{ItemSplitter, Step},
};

/// Converts the chunks of a chat stream to the events of a Responses stream.
///
/// Each event is an object. The SSE field `event` is its `type`, the field `data` is the object.
#[derive(Debug)]
pub struct EventStream {
    echo: Map<String, Value>,
    splitter: ItemSplitter,
    sequence_number: u64,
    is_started: bool,
    is_ended: bool,
}

impl EventStream {
    /// A stream without chunks. `request` is the request of the client.
    #[must_use]
    pub fn new(request: &Value) -> Self {
        let splitter = ItemSplitter::default();
        Self { echo: echo(request), splitter, sequence_number: 0, is_started: false, is_ended: false }
    }

    /// Adds the JSON of one `data:` line, except `[DONE]`, and returns the events that follow from it.
    pub fn push(&mut self, chunk: &Value) -> Vec<Value> {
        if self.is_ended {
            return Vec::new();
        }
        let mut events = Vec::new();
        if chunk.get("error").is_some_and(|error| !error.is_null()) {
            events.push(self.end_with_error(upstream_message(chunk)));
            return self.number(events);
        }
        if !self.is_started {
            self.is_started = true;
            self.splitter.start(chunk);
            let response = self.response("in_progress");
            events.push(json!({"type": "response.created", "response": response.clone()}));
            events.push(json!({"type": "response.in_progress", "response": response}));
        }
        for step in self.splitter.push(chunk) {
            self.add_events(&step, "completed", &mut events);
        }
        self.number(events)
    }

    /// Ends the stream, at `[DONE]` or when the connection is closed. Without a finish reason the last event is
    /// an error, because the reply is incomplete.
    pub fn finish(&mut self) -> Vec<Value> {
        if self.is_ended {
            return Vec::new();
        }
        let mut events = Vec::new();
        let Some(finish_reason) = self.splitter.finish_reason.clone() else {
            events.push(self.end_with_error("The upstream ended the stream before the reply was complete."));
            return self.number(events);
        };
        let steps = match self.splitter.finish() {
            Ok(steps) => steps,
            Err(message) => {
                events.push(self.end_with_error(message));
                return self.number(events);
            }
        };
        self.is_ended = true;
        let incomplete = incomplete_reason(&finish_reason);
        let status = if incomplete.is_some() { "incomplete" } else { "completed" };
        for step in steps {
            self.add_events(&step, status, &mut events);
        }
        let items = self.splitter.items().enumerate();
        let output = items.map(|(index, item)| output_item(&self.splitter.id, index, item, status)).collect();
        let mut response = self.response(status);
        response["output"] = Value::Array(output);
        response["incomplete_details"] = json!(incomplete.map(|reason| json!({"reason": reason})));
        response["usage"] = usage(self.splitter.usage);
        events.push(json!({"type": format!("response.{status}"), "response": response}));
        self.number(events)
    }

    /// `response.failed` if the response was created, else the event `error`.
    fn end_with_error(&mut self, message: &str) -> Value {
        self.is_ended = true;
        if !self.is_started {
            return json!({"type": "error", "code": "server_error", "message": message, "param": null});
        }
        let mut response = self.response("failed");
        response["error"] = json!({"code": "server_error", "message": message});
        json!({"type": "response.failed", "response": response})
    }

    fn response(&self, status: &str) -> Value {
        let splitter = &self.splitter;
        response(&self.echo, &splitter.id, &splitter.model, splitter.created, status)
    }

    fn number(&mut self, mut events: Vec<Value>) -> Vec<Value> {
        for event in &mut events {
            event["sequence_number"] = json!(self.sequence_number);
            self.sequence_number += 1;
        }
        events
    }

    fn add_events(&self, step: &Step, status: &str, events: &mut Vec<Value>) {
        let id = &self.splitter.id;
        match step {
            Step::Open { index, item } => {
                let is_call = matches!(item, Item::ToolCall { .. });
                let mut added = output_item(id, *index, item, "in_progress");
                if !is_call {
                    added["content"] = json!([]);
                }
                events.push(json!({"type": "response.output_item.added", "output_index": index, "item": added}));
                if !is_call {
                    let mut event = content_event("response.content_part.added", &item_id(id, *index, item), *index);
                    event["part"] = content_part(item);
                    events.push(event);
                }
            }
            Step::Delta { index, delta, is_call, is_refusal } => {
                let prefix = if *is_call { "fc" } else { "msg" };
                let item_id = format!("{prefix}_{id}_{index}");
                events.push(match (is_call, is_refusal) {
                    (true, _) => json!({
                        "type": "response.function_call_arguments.delta",
                        "item_id": item_id,
                        "output_index": index,
                        "delta": delta,
                    }),
                    (false, true) => {
                        let mut event = content_event("response.refusal.delta", &item_id, *index);
                        event["delta"] = json!(delta);
                        event
                    }
                    (false, false) => {
                        let mut event = content_event("response.output_text.delta", &item_id, *index);
                        event["delta"] = json!(delta);
                        event["logprobs"] = json!([]);
                        event
                    }
                });
            }
            Step::Close { index, item } => {
                let item_id = item_id(id, *index, item);
                match item {
                    Item::ToolCall { name, arguments, .. } => events.push(json!({
                        "type": "response.function_call_arguments.done",
                        "item_id": item_id,
                        "output_index": index,
                        "name": name,
                        "arguments": arguments,
                    })),
                    Item::Text(text) => {
                        let mut event = content_event("response.output_text.done", &item_id, *index);
                        event["text"] = json!(text);
                        event["logprobs"] = json!([]);
                        events.push(event);
                    }
                    Item::Refusal(text) => {
                        let mut event = content_event("response.refusal.done", &item_id, *index);
                        event["refusal"] = json!(text);
                        events.push(event);
                    }
                }
                if !matches!(item, Item::ToolCall { .. }) {
                    let mut event = content_event("response.content_part.done", &item_id, *index);
                    event["part"] = content_part(item);
                    events.push(event);
                }
                let done = output_item(id, *index, item, status);
                events.push(json!({"type": "response.output_item.done", "output_index": index, "item": done}));
            }
        }
    }
}

fn content_event(kind: &str, item_id: &str, output_index: usize) -> Value {
    json!({"type": kind, "item_id": item_id, "output_index": output_index, "content_index": 0})
}
