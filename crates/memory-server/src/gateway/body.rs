//! The body of a chat request. The gateway edits single values and leaves all other bytes unchanged.

use std::ops::Range;

use axum::body::Bytes;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, value::RawValue};

use super::{
    dialect::Dialect,
    json::{Edit, content_text, json_string, range_of},
    thread::{ChatMessage, is_without_words},
};
use crate::{access::Owner, config::BlockPlacement};

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
    messages: Vec<ChatMessage>,
    /// The position of the messages. `None` if they are missing or cannot be read.
    messages_range: Option<Range<usize>>,
    /// The position of a system prompt outside of the messages.
    system_range: Option<Range<usize>>,
    /// The position of a cache mark for the whole request.
    cache_mark: Option<Range<usize>>,
    /// The id of the response that this request continues, or else of its conversation.
    continued_id: Option<String>,
    conversation_id: Option<String>,
    /// The ids of stored items that the request names in place of their content.
    referenced_ids: Vec<String>,
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
    #[serde(borrow, default)]
    cache_control: Option<&'b RawValue>,
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

/// Reads a value that is present, even if it is null.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

impl Envelope<'_> {
    /// Returns the owner that the body names. A name in `metadata` takes precedence over one at the top level.
    fn owner(&self) -> Owner {
        Owner {
            // A blank user is refused later, where it would be the default user.
            user: self.name("user_id", &self.user_id).or_else(|| owner_name(&self.user)),
            agent: self.name("agent_id", &self.agent_id).filter(|name| !name.is_empty()),
            session: self.name("session_id", &self.session_id).filter(|name| !name.is_empty()),
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
        let (raw_messages, raw_system) = match dialect {
            Dialect::Chat => (envelope.messages, None),
            Dialect::Messages => (envelope.messages, envelope.system),
            Dialect::Responses => (envelope.input, envelope.instructions),
        };
        let referenced_ids = raw_messages.map(|raw| dialect.referenced_ids(raw)).unwrap_or_default();
        let messages = raw_messages.and_then(|raw| Some((dialect.read_messages(raw)?, range_of(text, raw))));
        let (messages, messages_range) = messages.unzip();
        let mut continued_id = None;
        let mut conversation_id = None;
        if dialect == Dialect::Responses {
            let id = envelope.conversation.get("id").unwrap_or(&envelope.conversation);
            conversation_id = owner_name(id).filter(|id| !id.is_empty());
            let previous = owner_name(&envelope.previous_response_id).filter(|id| !id.is_empty());
            continued_id = previous.or_else(|| conversation_id.clone());
            owner.session = owner.session.or_else(|| conversation_id.clone());
        }
        Ok(Self {
            dialect,
            model,
            is_streamed: envelope.stream == Value::Bool(true),
            owner,
            messages: messages.unwrap_or_default(),
            messages_range,
            system_range: raw_system.map(|raw| range_of(text, raw)),
            cache_mark: envelope.cache_control.filter(|_| dialect == Dialect::Messages).map(|raw| range_of(text, raw)),
            continued_id,
            conversation_id,
            referenced_ids,
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
    pub(super) fn continued_id(&self) -> Option<&str> {
        self.continued_id.as_deref()
    }

    /// Returns the id of the conversation that the service stores.
    pub(super) fn conversation_id(&self) -> Option<&str> {
        self.conversation_id.as_deref()
    }

    /// Returns the ids of everything stored that the request names: responses, conversations and items.
    pub(super) fn stored_ids(&self) -> impl Iterator<Item = &str> {
        let referenced = self.referenced_ids.iter().map(String::as_str);
        self.continued_id().into_iter().chain(self.conversation_id()).chain(referenced)
    }

    /// Returns true if the request is no message of the user, but a task of its client, or what a program added.
    pub(super) fn is_without_words(&self) -> bool {
        let system = self.system_range.clone().map(|range| content_text(&self.text()[range])).unwrap_or_default();
        is_without_words(&system, &self.messages)
    }

    /// Returns the messages, or none if they cannot be read.
    pub(super) fn messages(&self) -> &[ChatMessage] {
        &self.messages
    }

    /// Returns the bytes with the name of the model replaced, if one is given, and with `block` added at its place. A
    /// body whose messages cannot be read gets no block.
    ///
    /// The block goes to the system prompt also if no message can take it, and if the service stores the messages: it
    /// would keep the block for good.
    pub(super) fn edited(&self, model: Option<&str>, block: &str, placement: BlockPlacement) -> Bytes {
        let mut edits: Vec<Edit> = Vec::new();
        if let (Some(new), Some((old, range))) = (model, &self.model)
            && new != old
        {
            edits.push(Edit { range: range.clone(), text: json_string(new) });
        }
        if let Some(messages) = self.messages_range.clone().filter(|_| !block.is_empty()) {
            let system = self.system_range.clone();
            let in_message = match placement {
                BlockPlacement::Message if self.continued_id.is_none() => {
                    let cache_mark = self.cache_mark.clone();
                    self.dialect.append_to_question(self.text(), messages.clone(), cache_mark, block)
                }
                BlockPlacement::Message | BlockPlacement::System => None,
            };
            let in_system = || self.dialect.inject_block(self.text(), messages, system, block);
            edits.extend(in_message.unwrap_or_else(in_system));
        }
        if edits.is_empty() {
            return self.bytes.clone();
        }
        edits.sort_by_key(|edit| edit.range.start);
        let mut edited = Vec::with_capacity(self.bytes.len() + block.len() + 128);
        let mut copied_to = 0;
        for edit in edits {
            edited.extend_from_slice(&self.bytes[copied_to..edit.range.start]);
            edited.extend_from_slice(edit.text.as_bytes());
            copied_to = edit.range.end;
        }
        edited.extend_from_slice(&self.bytes[copied_to..]);
        edited.into()
    }

    /// Returns the body as text. [`ChatBody::read`] has checked that it is UTF-8.
    fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes).unwrap_or_default()
    }
}

/// Returns the name in a value: a text that is not empty, or a number.
fn owner_name(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests;
