//! The messages of a request to add memories.

use std::borrow::Cow;

use memory_engine_intake::{IncomingWords, model_words};
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
    // The reply to a task of the client is no part of the conversation.
    let mut answers_task = false;
    for (index, message) in list.iter().enumerate() {
        let Some((message, texts)) = Mem0Message::read(message) else {
            params.add_fault(&format!("messages.{index}"), "message_type", INVALID_MESSAGE);
            continue;
        };
        let text = match message.role.as_str() {
            "assistant" if answers_task => continue,
            "assistant" => model_words(&texts.join("\n")),
            "tool" | "function" | "system" | "developer" => texts.join("\n"),
            _ => {
                let words = IncomingWords::of_parts(texts.iter().map(String::as_str));
                answers_task = words == IncomingWords::ClientTask;
                words.own_words().unwrap_or_default()
            }
        };
        if !text.trim().is_empty() {
            valid.push(Mem0Message { text, ..message });
        }
    }
    valid
}

impl Mem0Message {
    /// Reads a message, whose text is still empty, and the texts of its content.
    fn read(message: &Value) -> Option<(Self, Vec<String>)> {
        let role = message.get("role").and_then(Value::as_str).filter(|role| !role.trim().is_empty())?;
        let name = message.get("name").and_then(Value::as_str).map(str::trim).filter(|name| !name.is_empty());
        let texts = content_texts(message.get("content").unwrap_or(&Value::Null))?;
        Some((Self { role: role.to_owned(), name: name.map(str::to_owned), text: String::new() }, texts))
    }
}

/// Returns the texts of a content: a string, a part, or a list of both. Parts without text, such as images, are left
/// out. `None` for a number or a flag.
fn content_texts(content: &Value) -> Option<Vec<String>> {
    match content {
        Value::Null => Some(Vec::new()),
        Value::Array(parts) => Some(parts.iter().filter_map(part_text).collect()),
        Value::String(_) | Value::Object(_) => Some(part_text(content).into_iter().collect()),
        Value::Bool(_) | Value::Number(_) => None,
    }
}

fn part_text(part: &Value) -> Option<String> {
    part.as_str().or_else(|| part.get("text").and_then(Value::as_str)).map(str::to_owned)
}
