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

    memory_engine_core::setters! {
        #![must_use]
        /// Sets the sampling temperature.
        with_temperature(temperature: f64) => temperature = Some(temperature);
        /// Sets the maximum number of tokens of the reply.
        with_max_tokens(max_tokens: u32) => max_tokens = Some(max_tokens);
        /// Sets the texts at which the reply ends.
        with_stop(stop: impl IntoIterator<Item = impl Into<String>>)
            => stop = stop.into_iter().map(Into::into).collect();
        /// Sets the required form of a JSON reply.
        with_output(output: OutputSchema) => output = Some(output);
    }
}

#[cfg(test)]
mod tests;
