//! OpenAI's chat completions.

use std::ops::Range;

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use crate::gateway::{
    json::{Edit, append_paragraph, append_part, content_texts, json_string, range_of, text_part},
    thread::{ChatMessage, Speaker},
};

#[derive(Deserialize)]
struct RawMessage<'b> {
    #[serde(default)]
    role: Value,
    #[serde(borrow, default)]
    content: Option<&'b RawValue>,
    #[serde(borrow, default)]
    tool_calls: Option<&'b RawValue>,
    #[serde(borrow, default)]
    function_call: Option<&'b RawValue>,
}

impl<'b> RawMessage<'b> {
    /// Reads a message; `None` if it is not an object with the fields of a message.
    fn read(raw: &'b RawValue) -> Option<Self> {
        // serde would read a list as the fields of the object, in their order.
        let object = Some(raw.get()).filter(|raw| raw.starts_with('{'))?;
        serde_json::from_str(object).ok()
    }

    fn speaker(&self) -> Speaker {
        Speaker::of(self.role.as_str().unwrap_or_default())
    }
}

/// Reads the list of messages; `None` if the value is not a list.
pub(super) fn read_messages(raw: &RawValue) -> Option<Vec<ChatMessage>> {
    let list: Vec<&RawValue> = serde_json::from_str(raw.get()).ok()?;
    Some(list.into_iter().map(read_message).collect())
}

/// Reads a message of the list.
pub(super) fn read_message(raw: &RawValue) -> ChatMessage {
    let Some(message) = RawMessage::read(raw) else { return ChatMessage::unknown() };
    ChatMessage {
        speaker: message.speaker(),
        texts: message.content.map(|raw| content_texts(raw.get())).unwrap_or_default(),
        calls_tools: is_present(message.tool_calls) || is_present(message.function_call),
    }
}

fn is_present(raw: Option<&RawValue>) -> bool {
    raw.is_some_and(|raw| !matches!(raw.get(), "null" | "[]"))
}

/// Returns the edit that appends the block to the first system or developer message: to a text after a blank line, to a
/// list of parts as a new part. Without such a message, or with one without content, a new one is inserted before all
/// others. `messages` is the range of their list in the body.
pub(super) fn inject_block(body: &str, messages: Range<usize>, block: &str) -> Edit {
    let list: Vec<&RawValue> = serde_json::from_str(&body[messages.clone()]).unwrap_or_default();
    let mut read = list.iter().filter_map(|raw| RawMessage::read(raw));
    let system = read.find(|message| message.speaker() == Speaker::System);
    let content = system.and_then(|message| message.content);
    match content.map(|raw| (raw, raw.get().as_bytes()[0])) {
        Some((raw, b'"')) => append_paragraph(body, range_of(body, raw), block),
        Some((raw, b'[')) => append_part(body, range_of(body, raw), &text_part("text", block)),
        Some(_) | None => {
            let comma = if list.is_empty() { "" } else { "," };
            let message = format!(r#"{{"role":"system","content":{}}}{comma}"#, json_string(block));
            Edit::insert(messages.start + 1, message)
        }
    }
}
