//! Errors in the format of OpenAI's API.

use axum::{extract::FromRequestParts, http::request::Parts, response::Response};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::{access::Access, fault::Fault};

/// The body of a refusal or failure, in the format of OpenAI's API.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct OpenAiError {
    pub(super) error: ErrorDetails,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ErrorDetails {
    pub(super) message: String,
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) param: Value,
    pub(super) code: Option<&'static str>,
}

impl OpenAiError {
    pub(super) fn new(message: impl Into<String>, kind: &'static str) -> Self {
        Self { error: ErrorDetails { message: message.into(), kind, param: Value::Null, code: None } }
    }
}

/// Returns a fault in the format of OpenAI's API.
pub(super) fn error_response(fault: Fault) -> Response {
    let kind = match fault.status().as_u16() {
        401 | 403 => "authentication_error",
        429 => "rate_limit_error",
        400..500 => "invalid_request_error",
        _ => "server_error",
    };
    let body = OpenAiError::new(fault.message(), kind);
    fault.into_response_with(body)
}

/// The access of a request. A request without one is refused in the format of OpenAI's API.
pub(super) struct OpenAiAccess(pub(super) Access);

impl<S: Send + Sync> FromRequestParts<S> for OpenAiAccess {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let access = <Access as FromRequestParts<S>>::from_request_parts(parts, state).await;
        access.map(Self).map_err(error_response)
    }
}
