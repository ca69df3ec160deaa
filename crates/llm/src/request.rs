//! Requests to a model.

use memory_engine_core::Role;
use serde_json::Value;

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The role of the author: [`Role::SYSTEM`], [`Role::USER`] or [`Role::ASSISTANT`].
    pub role: Role,
    /// The text.
    pub content: String,
}

impl Message {
    /// Creates a message with any role.
    pub fn new(role: Role, content: impl Into<String>) -> Self {
        Self { role, content: content.into() }
    }

    /// Creates a message with instructions of the application.
    pub fn system(content: impl Into<String>) -> Self {
        Self::new(Role::SYSTEM, content)
    }

    /// Creates a message of the user.
    pub fn user(content: impl Into<String>) -> Self {
        Self::new(Role::USER, content)
    }

    /// Creates a message of the model.
    pub fn assistant(content: impl Into<String>) -> Self {
        Self::new(Role::ASSISTANT, content)
    }
}

/// The required form of a JSON reply.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputSchema {
    /// A short name of ASCII letters, digits, `_` and `-`. Services reject other characters.
    pub name: String,
    /// A JSON Schema.
    pub schema: Value,
}

impl OutputSchema {
    /// Creates a named schema. Characters of the name that services reject become `_`.
    pub fn new(name: &str, schema: Value) -> Self {
        let valid_char = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        Self { name: name.chars().map(valid_char).collect(), schema }
    }
}

/// A conversation to continue, with parameters.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ChatRequest {
    /// The conversation, oldest message first.
    pub messages: Vec<Message>,
    /// Sampling temperature; 0 is as deterministic as the model can be. Default: `None`, that of the service.
    pub temperature: Option<f64>,
    /// Maximum number of tokens of the reply. Default: `None`, that of the service.
    pub max_tokens: Option<u32>,
    /// Texts at which the reply ends. They are not a part of it. Default: none.
    pub stop: Vec<String>,
    /// The required form of a JSON reply. Default: `None`, free text.
    pub output: Option<OutputSchema>,
}

impl ChatRequest {
    /// Creates a request with these messages and default parameters.
    pub fn new(messages: impl IntoIterator<Item = Message>) -> Self {
        Self { messages: messages.into_iter().collect(), ..Self::default() }
    }

    /// Sets the sampling temperature.
    #[must_use]
    pub fn with_temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// Sets the maximum number of tokens of the reply.
    #[must_use]
    pub fn with_max_tokens(mut self, max_tokens: u32) -> Self {
        self.max_tokens = Some(max_tokens);
        self
    }

    /// Sets the texts at which the reply ends.
    #[must_use]
    pub fn with_stop(mut self, stop: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.stop = stop.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the required form of a JSON reply.
    #[must_use]
    pub fn with_output(mut self, output: OutputSchema) -> Self {
        self.output = Some(output);
        self
    }
}

#[cfg(test)]
mod tests;
