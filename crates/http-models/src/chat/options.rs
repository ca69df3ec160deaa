//! Options of a chat model.

use serde_json::{Map, Value};

/// The request parameters for a JSON reply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum JsonMode {
    /// `response_format` of type `json_schema`, with the schema.
    #[default]
    Schema,
    /// `response_format` of type `json_object`, with the schema in the prompt.
    Object,
    /// The schema in the prompt only, for services that reject `response_format`.
    Prompt,
}

/// A chat model and the form of its requests.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ChatOptions {
    /// Name of the model in the service. There is no default.
    pub model: String,
    /// The request parameters for a JSON reply. Default: [`JsonMode::Schema`].
    pub json_mode: JsonMode,
    /// The name of the field for the maximum number of tokens: `max_tokens`, or `max_completion_tokens` for newer
    /// OpenAI models. Default: `max_tokens`.
    pub max_tokens_field: String,
    /// Further fields of every request, such as `enable_thinking`. Default: none.
    pub fields: Map<String, Value>,
}

impl ChatOptions {
    /// Options for the model with this name, otherwise with default values.
    pub fn new(model: impl Into<String>) -> Self {
        Self { model: model.into(), ..Self::default() }
    }

    memory_engine_core::setters! {
        #![must_use]
        /// Sets the request parameters for a JSON reply.
        with_json_mode(mode: JsonMode) => json_mode = mode;
        /// Sets the name of the field for the maximum number of tokens.
        with_max_tokens_field(name: impl Into<String>) => max_tokens_field = name.into();
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
