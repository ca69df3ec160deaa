//! Errors that a client reads.

use axum::{
    Json,
    http::{StatusCode, header::CACHE_CONTROL},
    response::{IntoResponse, Response},
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::fault::Fault;

/// An error of OAuth, with a code that the client reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OAuthError {
    status: StatusCode,
    code: &'static str,
    description: String,
}

/// The body of an error (RFC 6749, section 5.2).
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OAuthError")]
pub(super) struct OAuthErrorBody {
    /// The code, such as `invalid_grant`.
    error: &'static str,
    /// The problem, and what would be right.
    error_description: String,
}

impl OAuthError {
    pub(super) fn new(code: &'static str, description: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, code, description: description.into() }
    }

    pub(super) fn invalid_request(description: impl Into<String>) -> Self {
        Self::new("invalid_request", description)
    }

    /// The code, the token or what it stands for is not valid any more. The client has to ask for authorization again.
    pub(super) fn invalid_grant(description: impl Into<String>) -> Self {
        Self::new("invalid_grant", description)
    }

    pub(super) fn invalid_client() -> Self {
        let description = "the client_id is not of this server, or its secret has changed; register the client again";
        Self { status: StatusCode::UNAUTHORIZED, ..Self::new("invalid_client", description) }
    }

    pub(super) fn invalid_target(resource: &str) -> Self {
        Self::new("invalid_target", format!("tokens of this server are for the resource {resource} only"))
    }

    pub(super) fn code(&self) -> &'static str {
        self.code
    }

    pub(super) fn description(&self) -> &str {
        &self.description
    }
}

impl IntoResponse for OAuthError {
    fn into_response(self) -> Response {
        let body = OAuthErrorBody { error: self.code, error_description: self.description };
        (self.status, [(CACHE_CONTROL, "no-store")], Json(body)).into_response()
    }
}

/// Returns a refusal by a limit in the format of OAuth.
pub(super) fn format_fault(fault: Fault) -> Response {
    let is_overload = matches!(fault.status(), StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS);
    let error = if is_overload { "temporarily_unavailable" } else { "invalid_request" };
    let body = OAuthErrorBody { error, error_description: fault.message().to_owned() };
    fault.into_response_with(body)
}
