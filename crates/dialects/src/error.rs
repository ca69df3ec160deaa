//! Errors of a conversion, and errors of an upstream.

use serde_json::{Value, json};

/// A request or reply that cannot be converted. The message contains field names and advice, no text of the request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DialectError {
    /// The field has no counterpart in Chat Completions.
    #[error("`{field}` is not supported by a Chat Completions upstream: {advice}")]
    Unsupported {
        /// Path of the field, for example `messages[2].content[0]`.
        field: String,
        /// What to do instead.
        advice: String,
    },
    /// The field is missing or has another type than its dialect defines.
    #[error("`{field}` must be {expected}")]
    Invalid {
        /// Path of the field.
        field: String,
        /// The type or value that is expected.
        expected: String,
    },
}

impl DialectError {
    pub(crate) fn unsupported(field: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::Unsupported { field: field.into(), advice: advice.into() }
    }

    pub(crate) fn invalid(field: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::Invalid { field: field.into(), expected: expected.into() }
    }

    /// Path of the field.
    #[must_use]
    pub fn field(&self) -> &str {
        match self {
            Self::Unsupported { field, .. } | Self::Invalid { field, .. } => field,
        }
    }

    /// The error as the body of an OpenAI error with status 400. `messages::error` and `responses::error` accept it.
    #[must_use]
    pub fn body(&self) -> Value {
        let message = self.to_string();
        json!({"error": {"message": message, "type": "invalid_request_error", "param": self.field(), "code": null}})
    }
}

/// The message in the error body of an upstream: `error.message`, `error`, `message` or `detail`.
pub(crate) fn upstream_message(body: &Value) -> &str {
    [&body["error"]["message"], &body["error"], &body["message"], &body["detail"]]
        .into_iter()
        .find_map(Value::as_str)
        .unwrap_or("The upstream returned an error without a message.")
}
