//! Options of a chat model.

use serde_json::{Map, Value};

/// The way to make a model answer in JSON.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum JsonMode {
    /// By the schema: `response_format` of type `json_schema`.
    #[default]
    Schema,
    /// To JSON, with the schema in the prompt: `response_format` of type `json_object`.
    Object,
    /// Only by the prompt, for services that refuse `response_format`.
    Prompt,
}

/// A chat model and what it needs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ChatOptions {
    /// Name of the model in the service. Required.
    pub model: String,
    /// The way to make it answer in JSON. Default: by the schema.
    pub json_mode: JsonMode,
    /// The name of the field for the maximum number of tokens: `max_tokens`, or `max_completion_tokens` for newer
    /// OpenAI models. Default: `max_tokens`.
    pub max_tokens_field: String,
    /// Further fields of every request, such as `enable_thinking`. Default: none.
    pub fields: Map<String, Value>,
}

impl ChatOptions {
    /// A model by its name, held to JSON by the schema.
    pub fn new(model: impl Into<String>) -> Self {
        Self { model: model.into(), ..Self::default() }
    }

    /// Sets how the model is held to JSON.
    #[must_use]
    pub fn with_json_mode(mut self, mode: JsonMode) -> Self {
        self.json_mode = mode;
        self
    }

    /// Sets the name of the field for the maximum number of tokens.
    #[must_use]
    pub fn with_max_tokens_field(mut self, name: impl Into<String>) -> Self {
        self.max_tokens_field = name.into();
        self
    }

    /// Adds a field to every request.
    #[must_use]
    pub fn with_field(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.fields.insert(name.into(), value.into());
        self
    }
}

impl Default for ChatOptions {
    fn default() -> Self {
        Self {
            model: String::new(),
            json_mode: JsonMode::default(),
            max_tokens_field: "max_tokens".into(),
            fields: Map::new(),
        }
    }
}
