//! What has to be known about a chat model.

use serde_json::{Map, Value};

/// How a model is held to JSON.
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
    /// The model's name, as the service knows it.
    pub model: String,
    /// How it is held to JSON.
    pub json_mode: JsonMode,
    /// What the field for the most tokens is called: `max_tokens`, or `max_completion_tokens` for newer OpenAI models.
    pub max_tokens_field: String,
    /// Further fields of every request, such as `enable_thinking`.
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

    /// Sets what the field for the most tokens is called.
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
