//! The messages of a request to add memories.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::Value;

use super::params::{FromParams, Mem0Api, ParamGroup, Params};

/// Maximum number of messages in one request, so that the work of other callers does not wait for long.
const MAX_MESSAGES: usize = 1000;

const INVALID_MESSAGE: &str = "a message must have a role, and a content that is a text or a list of parts";

/// The messages of a request, without those that have no text.
#[derive(Debug)]
pub(super) struct Messages(pub(super) Vec<Mem0Message>);

#[derive(Debug, Clone)]
pub(super) struct Mem0Message {
    pub(super) role: String,
    pub(super) name: Option<String>,
    pub(super) text: String,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["messages"]))]
struct MessagesParam {
    /// A list of objects with `role`, `content` and optionally `name`. On the platform's routes, a string is a message
    /// of the user.
    #[schemars(required, extend("maxItems" = MAX_MESSAGES))]
    messages: Option<Value>,
}

impl ParamGroup for MessagesParam {
    const REQUIRED: &'static [&'static str] = &["messages"];
}

impl JsonSchema for Messages {
    fn schema_name() -> Cow<'static, str> {
        MessagesParam::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        MessagesParam::json_schema(generator)
    }
}

impl FromParams for Messages {
    fn read(params: &mut Params) -> Self {
        let MessagesParam { messages } = FromParams::read(params);
        Self(read_messages(params, messages))
    }
}

/// The dialogue before a query, without messages that have no text.
#[derive(Debug, Default)]
pub(super) struct Dialogue(pub(super) Vec<Mem0Message>);

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct DialogueParam {
    /// The messages of the conversation before the query, oldest first, each with `role` and `content`. If the query
    /// names no topic or finds nothing, it is searched for together with the last messages. Default: none.
    #[schemars(extend("maxItems" = MAX_MESSAGES))]
    messages: Option<Value>,
}

impl ParamGroup for DialogueParam {}

impl JsonSchema for Dialogue {
    fn schema_name() -> Cow<'static, str> {
        DialogueParam::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        DialogueParam::json_schema(generator)
    }
}

impl FromParams for Dialogue {
    fn read(params: &mut Params) -> Self {
        let DialogueParam { messages } = FromParams::read(params);
        Self(read_messages(params, messages))
    }
}

/// Returns the messages that have a text. Each one that is not valid is a fault of the parameters.
fn read_messages(params: &mut Params, messages: Option<Value>) -> Vec<Mem0Message> {
    let list = match messages {
        None => Vec::new(),
        Some(Value::Array(list)) => list,
        Some(message @ Value::Object(_)) => vec![message],
        // mem0's open-source server accepts lists only.
        Some(Value::String(text)) if params.api() == Mem0Api::Platform => {
            vec![serde_json::json!({ "role": "user", "content": text })]
        }
        Some(_) => {
            params.add_fault("messages", "list_type", "Input should be a valid list");
            Vec::new()
        }
    };
    if list.len() > MAX_MESSAGES {
        let message = format!(
            "List should have at most {MAX_MESSAGES} items, not {}; send the messages in several requests",
            list.len()
        );
        params.add_fault("messages", "too_long", &message);
        return Vec::new();
    }
    let mut valid = Vec::new();
    for (index, message) in list.iter().enumerate() {
        match Mem0Message::read(message) {
            Some(message) if message.text.trim().is_empty() => {}
            Some(message) => valid.push(message),
            None => params.add_fault(&format!("messages.{index}"), "message_type", INVALID_MESSAGE),
        }
    }
    valid
}

impl Mem0Message {
    fn read(message: &Value) -> Option<Self> {
        let role = message.get("role").and_then(Value::as_str).filter(|role| !role.trim().is_empty())?;
        let name = message.get("name").and_then(Value::as_str).map(str::trim).filter(|name| !name.is_empty());
        let text = content_text(message.get("content").unwrap_or(&Value::Null))?;
        Some(Self { role: role.to_owned(), name: name.map(str::to_owned), text })
    }
}

/// Returns the text of a content: a string, a text part, or a list of both. Other parts are left out. `None` for a
/// number or a flag.
fn content_text(content: &Value) -> Option<String> {
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Null => Some(String::new()),
        Value::Array(parts) => Some(parts.iter().filter_map(part_text).collect::<Vec<_>>().join("\n")),
        Value::Object(_) => part_text(content),
        Value::Bool(_) | Value::Number(_) => None,
    }
}

fn part_text(part: &Value) -> Option<String> {
    part.as_str().or_else(|| part.get("text").and_then(Value::as_str)).map(str::to_owned)
}
