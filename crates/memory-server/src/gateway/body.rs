//! The body of a chat request: read where we need it, and otherwise passed on byte by byte.

use std::ops::Range;

use axum::body::Bytes;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::thread::{ChatMessage, Speaker};
use crate::access::Owner;

/// A chat request as the client wrote it. What is changed is put into its bytes; everything else stays as it is, down
/// to the order of keys and the digits of numbers.
#[derive(Debug)]
pub(super) struct ChatBody {
    bytes: Bytes,
    model: Option<(String, Range<usize>)>,
    streamed: bool,
    owner: Owner,
    messages: Option<Messages>,
}

#[derive(Debug)]
struct Messages {
    /// Right behind the opening bracket.
    start: usize,
    said: Vec<ChatMessage>,
    /// The content of the first system or developer message.
    system: Option<Range<usize>>,
}

#[derive(Deserialize)]
struct Envelope<'b> {
    #[serde(borrow, default)]
    model: Option<&'b RawValue>,
    #[serde(borrow, default)]
    messages: Option<&'b RawValue>,
    #[serde(default)]
    stream: Value,
    #[serde(default)]
    user: Value,
    #[serde(default)]
    metadata: Value,
    #[serde(default)]
    user_id: Value,
    #[serde(default)]
    agent_id: Value,
    #[serde(default)]
    session_id: Value,
}

#[derive(Deserialize)]
struct Message<'b> {
    #[serde(default)]
    role: Value,
    #[serde(borrow, default)]
    content: Option<&'b RawValue>,
    #[serde(borrow, default)]
    tool_calls: Option<&'b RawValue>,
    #[serde(borrow, default)]
    function_call: Option<&'b RawValue>,
}

#[derive(Deserialize)]
struct ContentPart {
    #[serde(default)]
    text: Option<String>,
}

impl ChatBody {
    /// Reads a body.
    ///
    /// # Errors
    /// What is wrong with it, for the client.
    pub(super) fn read(bytes: Bytes) -> Result<Self, String> {
        let text = std::str::from_utf8(&bytes).map_err(|_| "the body is not UTF-8; it has to be JSON".to_owned())?;
        // A list would be taken for the fields of the object in their order.
        if !text.trim_start().starts_with('{') {
            return Err("the body is not a JSON object".to_owned());
        }
        let wrong = |e: serde_json::Error| {
            let (line, column) = (e.line(), e.column());
            format!("the body is not a JSON object in which each key stands once (line {line}, column {column})")
        };
        let envelope: Envelope<'_> = serde_json::from_str(text).map_err(wrong)?;
        let model = envelope.model.and_then(|raw| Some((serde_json::from_str(raw.get()).ok()?, place(text, raw))));
        let named = |top: &Value, inside: &str| {
            let inside = envelope.metadata.get(inside).and_then(name);
            inside.or_else(|| name(top))
        };
        let owner = Owner {
            user: named(&envelope.user_id, "user_id").or_else(|| name(&envelope.user)),
            agent: named(&envelope.agent_id, "agent_id"),
            session: named(&envelope.session_id, "session_id"),
            branch: None,
        };
        let messages = envelope.messages.and_then(|raw| Messages::read(text, raw));
        let streamed = envelope.stream == Value::Bool(true);
        Ok(Self { model, streamed, owner, messages, bytes })
    }

    /// The model that it names.
    pub(super) fn model(&self) -> Option<&str> {
        self.model.as_ref().map(|(name, _)| name.as_str())
    }

    /// Returns true if the response is to be streamed.
    pub(super) fn is_streamed(&self) -> bool {
        self.streamed
    }

    /// Returns the owner that the request names.
    pub(super) fn owner(&self) -> &Owner {
        &self.owner
    }

    /// Returns the messages, or none if they cannot be read.
    pub(super) fn said(&self) -> &[ChatMessage] {
        self.messages.as_ref().map_or(&[], |messages| &messages.said)
    }

    /// The bytes with another model's name, if there is one, and with `block` behind the first system message: in a
    /// text after a blank line, in a list of parts as one part more. Without a system message one is put before all
    /// others.
    pub(super) fn written(&self, model: Option<&str>, block: &str) -> Bytes {
        let renamed = model.zip(self.model.as_ref()).filter(|(new, (old, _))| new != old);
        let renaming = renamed.map(|(new, (_, place))| (place.clone(), quoted(new)));
        let injecting =
            self.messages.as_ref().filter(|_| !block.is_empty()).map(|messages| self.injecting(messages, block));
        let mut edits: Vec<(Range<usize>, String)> = renaming.into_iter().chain(injecting).collect();
        if edits.is_empty() {
            return self.bytes.clone();
        }
        edits.sort_by_key(|(place, _)| place.start);
        let mut written = Vec::with_capacity(self.bytes.len() + block.len() + 128);
        let mut from = 0;
        for (place, text) in edits {
            written.extend_from_slice(&self.bytes[from..place.start]);
            written.extend_from_slice(text.as_bytes());
            from = place.end;
        }
        written.extend_from_slice(&self.bytes[from..]);
        written.into()
    }

    fn injecting(&self, messages: &Messages, block: &str) -> (Range<usize>, String) {
        let system = messages.system.clone().unwrap_or(0..0);
        // The last character of a text or a list closes it.
        let before_end = system.end.saturating_sub(1);
        let inside = &self.bytes[system.clone()];
        match inside.first() {
            Some(b'"') => {
                let text = if inside.len() > 2 { format!("\n\n{block}") } else { block.to_owned() };
                let text = quoted(&text);
                (before_end..before_end, text[1..text.len() - 1].to_owned())
            }
            Some(b'[') => {
                let is_empty = inside[1..inside.len() - 1].iter().all(u8::is_ascii_whitespace);
                let comma = if is_empty { "" } else { "," };
                (before_end..before_end, format!(r#"{comma}{{"type":"text","text":{}}}"#, quoted(block)))
            }
            _ => {
                let comma = if messages.said.is_empty() { "" } else { "," };
                let message = format!(r#"{{"role":"system","content":{}}}{comma}"#, quoted(block));
                (messages.start..messages.start, message)
            }
        }
    }
}

impl Messages {
    /// `None` when it is no list.
    fn read(text: &str, raw: &RawValue) -> Option<Self> {
        let list: Vec<&RawValue> = serde_json::from_str(raw.get()).ok()?;
        let (mut said, mut system) = (Vec::with_capacity(list.len()), None);
        for raw in list {
            let read = Some(raw.get()).filter(|raw| raw.starts_with('{'));
            let Some(message) = read.and_then(|raw| serde_json::from_str::<Message<'_>>(raw).ok()) else {
                said.push(ChatMessage::unknown());
                continue;
            };
            let heard = heard(&message);
            if heard.speaker == Speaker::System
                && !said.iter().any(|other: &ChatMessage| other.speaker == Speaker::System)
            {
                system = message.content.map(|content| place(text, content));
            }
            said.push(heard);
        }
        Some(Self { start: place(text, raw).start + 1, said, system })
    }
}

/// Returns the position of a value in the text that contains it.
fn place(text: &str, raw: &RawValue) -> Range<usize> {
    let start = raw.get().as_ptr() as usize - text.as_ptr() as usize;
    start..start + raw.get().len()
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// A name is a text that is not empty, or a number.
fn name(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn heard(message: &Message<'_>) -> ChatMessage {
    let is_there = |raw: Option<&RawValue>| raw.is_some_and(|raw| !matches!(raw.get(), "null" | "[]"));
    ChatMessage {
        speaker: Speaker::of(message.role.as_str().unwrap_or_default()),
        text: message.content.map(|raw| content(raw.get())).unwrap_or_default(),
        calls: is_there(message.tool_calls) || is_there(message.function_call),
    }
}

/// Returns the text of a content, which is a string or a list of parts. Parts without text are skipped.
pub(super) fn content(raw: &str) -> String {
    match raw.as_bytes().first() {
        Some(b'"') => serde_json::from_str(raw).unwrap_or_default(),
        Some(b'[') => {
            let parts: Vec<ContentPart> = serde_json::from_str(raw).unwrap_or_default();
            parts.into_iter().filter_map(|part| part.text).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests;
