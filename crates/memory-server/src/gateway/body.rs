//! The body of a chat request. The gateway edits single values and leaves all other bytes unchanged.

use std::ops::Range;

use axum::body::Bytes;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, value::RawValue};

use super::{
    dialect::Dialect,
    json::{Edit, content_text, json_string},
    thread::{ChatMessage, Speaker},
};
use crate::access::Owner;

/// A chat request as the client sent it. Edits replace byte ranges, so that everything else stays the same, including
/// the order of keys and the digits of numbers.
#[derive(Debug)]
pub(super) struct ChatBody {
    dialect: Dialect,
    bytes: Bytes,
    /// The name of the model, and its position.
    model: Option<(String, Range<usize>)>,
    is_streamed: bool,
    owner: Owner,
    messages: Option<RawMessages>,
    /// The position of a system prompt outside of the messages.
    system: Option<Range<usize>>,
    /// The response that this request continues, or its conversation.
    continues: Option<String>,
    conversation: Option<String>,
}

#[derive(Debug)]
struct RawMessages {
    /// The position after the opening bracket of the list.
    start: usize,
    list: Vec<ChatMessage>,
    /// The position of the content of the first system or developer message.
    system: Option<Range<usize>>,
}

#[derive(Deserialize)]
struct Envelope<'b> {
    #[serde(borrow, default)]
    model: Option<&'b RawValue>,
    #[serde(borrow, default)]
    messages: Option<&'b RawValue>,
    #[serde(borrow, default)]
    input: Option<&'b RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    system: Option<&'b RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    instructions: Option<&'b RawValue>,
    #[serde(default)]
    previous_response_id: Value,
    #[serde(default)]
    conversation: Value,
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

/// Reads a value that is present, even if it is null.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

impl Envelope<'_> {
    /// Returns the owner that the body names. A name in `metadata` takes precedence over one at the top level.
    fn owner(&self) -> Owner {
        Owner {
            user: self.name("user_id", &self.user_id).or_else(|| owner_name(&self.user)),
            agent: self.name("agent_id", &self.agent_id),
            session: self.name("session_id", &self.session_id),
            branch: None,
        }
    }

    fn name(&self, key: &str, top_level: &Value) -> Option<String> {
        self.metadata.get(key).and_then(owner_name).or_else(|| owner_name(top_level))
    }
}

impl ChatBody {
    /// Reads a body.
    ///
    /// # Errors
    /// Returns a message for the client if the body is not a JSON object.
    pub(super) fn read(bytes: Bytes, dialect: Dialect) -> Result<Self, String> {
        let text = std::str::from_utf8(&bytes).map_err(|_| "the body is not UTF-8; it must be JSON".to_owned())?;
        // serde would read a list as the fields of the object, in their order.
        if !text.trim_start().starts_with('{') {
            return Err("the body is not a JSON object".to_owned());
        }
        let envelope: Envelope<'_> = serde_json::from_str(text).map_err(|e| {
            let line = e.line();
            let column = e.column();
            format!("the body is not a JSON object with unique keys (line {line}, column {column})")
        })?;
        let model = envelope.model.and_then(|raw| Some((serde_json::from_str(raw.get()).ok()?, range_of(text, raw))));
        let mut owner = dialect.owner(envelope.owner());
        let messages = match dialect {
            Dialect::Chat => envelope.messages.and_then(|raw| RawMessages::read(text, raw)),
            Dialect::Messages => envelope.messages.map(|raw| RawMessages::of(dialect.messages(raw))),
            Dialect::Responses => envelope.input.map(|raw| RawMessages::of(dialect.messages(raw))),
        };
        let system = match dialect {
            Dialect::Chat => None,
            Dialect::Messages => envelope.system,
            Dialect::Responses => envelope.instructions,
        };
        let mut continues = None;
        let mut conversation = None;
        if dialect == Dialect::Responses {
            let id = envelope.conversation.get("id").unwrap_or(&envelope.conversation);
            conversation = owner_name(id);
            continues = owner_name(&envelope.previous_response_id).or_else(|| conversation.clone());
            owner.session = owner.session.or_else(|| conversation.clone());
        }
        Ok(Self {
            dialect,
            system: system.map(|raw| range_of(text, raw)),
            continues,
            conversation,
            model,
            is_streamed: envelope.stream == Value::Bool(true),
            owner,
            messages,
            bytes,
        })
    }

    /// Returns the name of the model.
    pub(super) fn model(&self) -> Option<&str> {
        self.model.as_ref().map(|(name, _)| name.as_str())
    }

    /// Returns true if the client requests a streamed response.
    pub(super) fn is_streamed(&self) -> bool {
        self.is_streamed
    }

    /// Returns the owner that the request names.
    pub(super) fn owner(&self) -> &Owner {
        &self.owner
    }

    /// Returns the id of the response or conversation that this request continues.
    pub(super) fn continues(&self) -> Option<&str> {
        self.continues.as_deref()
    }

    /// Returns the id of the conversation that the service stores.
    pub(super) fn conversation(&self) -> Option<&str> {
        self.conversation.as_deref()
    }

    /// Returns the messages, or none if they cannot be read.
    pub(super) fn messages(&self) -> &[ChatMessage] {
        self.messages.as_ref().map_or(&[], |messages| &messages.list)
    }

    /// Returns the bytes with the name of the model replaced, if one is given, and with `block` appended to the first
    /// system message: to a text after a blank line, to a list of parts as a new part. Without a system message, a new
    /// one is inserted before all other messages.
    pub(super) fn edited(&self, model: Option<&str>, block: &str) -> Bytes {
        let mut edits: Vec<Edit> = Vec::new();
        if let (Some(new), Some((old, range))) = (model, &self.model)
            && new != old
        {
            edits.push((range.clone(), json_string(new)));
        }
        if let Some(messages) = self.messages.as_ref().filter(|_| !block.is_empty()) {
            let system = self.system.clone();
            let system = system.map(|range| (&self.text()[range.clone()], range));
            let is_outside = system.is_some();
            match self.dialect.block_edits(system, block) {
                None => edits.push(self.block_insertion(messages, block)),
                Some(block_edits) => {
                    // A new key is inserted before all others.
                    let offset = if is_outside { 0 } else { self.after_opening_brace() };
                    edits.extend(block_edits.into_iter().map(|(at, text)| (at.start + offset..at.end + offset, text)));
                }
            }
        }
        if edits.is_empty() {
            return self.bytes.clone();
        }
        edits.sort_by_key(|(range, _)| range.start);
        let mut edited = Vec::with_capacity(self.bytes.len() + block.len() + 128);
        let mut copied_to = 0;
        for (range, text) in edits {
            edited.extend_from_slice(&self.bytes[copied_to..range.start]);
            edited.extend_from_slice(text.as_bytes());
            copied_to = range.end;
        }
        edited.extend_from_slice(&self.bytes[copied_to..]);
        edited.into()
    }

    /// Returns the body as text. [`ChatBody::read`] has checked that it is UTF-8.
    fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes).unwrap_or_default()
    }

    fn after_opening_brace(&self) -> usize {
        self.bytes.iter().position(|byte| *byte == b'{').map_or(0, |brace| brace + 1)
    }

    /// Returns the edit that inserts the block: an empty range and the text.
    fn block_insertion(&self, messages: &RawMessages, block: &str) -> (Range<usize>, String) {
        let system = messages.system.clone().unwrap_or(0..0);
        // The last byte of a string or a list closes it.
        let before_end = system.end.saturating_sub(1);
        let content = &self.bytes[system];
        match content.first() {
            Some(b'"') => {
                let text = if content.len() > 2 { format!("\n\n{block}") } else { block.to_owned() };
                let text = json_string(&text);
                (before_end..before_end, text[1..text.len() - 1].to_owned())
            }
            Some(b'[') => {
                let is_empty = content[1..content.len() - 1].iter().all(u8::is_ascii_whitespace);
                let comma = if is_empty { "" } else { "," };
                (before_end..before_end, format!(r#"{comma}{{"type":"text","text":{}}}"#, json_string(block)))
            }
            _ => {
                let comma = if messages.list.is_empty() { "" } else { "," };
                let message = format!(r#"{{"role":"system","content":{}}}{comma}"#, json_string(block));
                (messages.start..messages.start, message)
            }
        }
    }
}

impl RawMessages {
    /// Messages whose positions are not needed.
    fn of(list: Vec<ChatMessage>) -> Self {
        Self { start: 0, list, system: None }
    }

    /// Reads the value of `messages`. `None` if it is not a list.
    fn read(text: &str, raw: &RawValue) -> Option<Self> {
        let raw_messages: Vec<&RawValue> = serde_json::from_str(raw.get()).ok()?;
        let mut list: Vec<ChatMessage> = Vec::with_capacity(raw_messages.len());
        let mut system = None;
        for raw in raw_messages {
            let object = Some(raw.get()).filter(|raw| raw.starts_with('{'));
            let Some(message) = object.and_then(|raw| serde_json::from_str::<RawMessage<'_>>(raw).ok()) else {
                list.push(ChatMessage::unknown());
                continue;
            };
            let chat_message = chat_message(&message);
            let is_first_system = chat_message.speaker == Speaker::System
                && !list.iter().any(|earlier| earlier.speaker == Speaker::System);
            if is_first_system {
                system = message.content.map(|content| range_of(text, content));
            }
            list.push(chat_message);
        }
        Some(Self { start: range_of(text, raw).start + 1, list, system })
    }
}

/// Returns the range of a value in the text that contains it.
fn range_of(text: &str, raw: &RawValue) -> Range<usize> {
    let start = raw.get().as_ptr() as usize - text.as_ptr() as usize;
    start..start + raw.get().len()
}

/// Returns the name in a value: a text that is not empty, or a number.
fn owner_name(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn chat_message(message: &RawMessage<'_>) -> ChatMessage {
    ChatMessage {
        speaker: Speaker::of(message.role.as_str().unwrap_or_default()),
        text: message.content.map(|raw| content_text(raw.get())).unwrap_or_default(),
        calls_tools: is_present(message.tool_calls) || is_present(message.function_call),
    }
}

fn is_present(raw: Option<&RawValue>) -> bool {
    raw.is_some_and(|raw| !matches!(raw.get(), "null" | "[]"))
}

#[cfg(test)]
mod tests;
