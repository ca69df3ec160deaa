//! What goes wrong with a request, as HTTP says it.

use std::time::Duration;

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header::RETRY_AFTER},
    response::{IntoResponse, Response},
};
use memory_engine::{Error, ErrorKind};
use serde_json::{Value, json};

/// A refusal or failure, with its HTTP status and a message for people. It holds no secret and no memory's text.
#[derive(Debug, Clone)]
#[must_use]
pub struct Fault {
    status: StatusCode,
    message: String,
    retry_after: Option<Duration>,
}

impl Fault {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), retry_after: None }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }

    pub(crate) fn with_retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// Its HTTP status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// What went wrong, and what would be right.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// A response with this body, and the headers of the fault.
    pub(crate) fn into_response_with(self, body: Value) -> Response {
        let mut response = (self.status, Json(body)).into_response();
        if let Some(wait) = self.retry_after {
            // Whole seconds, rounded up: who comes too early is refused again.
            let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert("www-authenticate", HeaderValue::from_static("Bearer"));
        }
        response
    }

    /// As OpenAI's API words it.
    pub(crate) fn into_openai(self) -> Response {
        let kind = match self.status.as_u16() {
            401 | 403 => "authentication_error",
            429 => "rate_limit_error",
            400..500 => "invalid_request_error",
            _ => "server_error",
        };
        let error = json!({ "message": self.message, "type": kind, "param": null, "code": null });
        self.into_response_with(json!({ "error": error }))
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let status = match error.kind() {
            ErrorKind::InvalidInput => StatusCode::BAD_REQUEST,
            ErrorKind::NotFound => StatusCode::NOT_FOUND,
            ErrorKind::Conflict => StatusCode::CONFLICT,
            ErrorKind::Unauthorized => StatusCode::FORBIDDEN,
            ErrorKind::RateLimited => StatusCode::TOO_MANY_REQUESTS,
            ErrorKind::Timeout => StatusCode::GATEWAY_TIMEOUT,
            ErrorKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            ErrorKind::Unsupported => StatusCode::NOT_IMPLEMENTED,
            ErrorKind::DimensionMismatch | ErrorKind::SchemaMismatch | ErrorKind::Corrupt | ErrorKind::Internal | _ => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
        };
        Self { status, message: error.to_string(), retry_after: error.retry_after() }
    }
}

impl IntoResponse for Fault {
    /// As both of mem0's dialects read it: `detail` for one, `error` for the other.
    fn into_response(self) -> Response {
        let body = json!({ "detail": self.message, "error": self.message });
        self.into_response_with(body)
    }
}
