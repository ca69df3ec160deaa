//! Refusals and failures of a request, with their HTTP status.

use std::time::Duration;

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header::RETRY_AFTER},
    response::{IntoResponse, Response},
};
use memory_engine::{Error, ErrorKind};
use schemars::JsonSchema;
use serde::Serialize;

/// A refusal or failure, with its HTTP status and a human-readable message. It contains no secret and no text of a
/// memory.
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

    /// Refuses a blank user. It would stand for the default user, or for all users.
    pub(crate) fn blank_user(place: &str) -> Self {
        Self::bad_request(format!("{place} is blank; name a user, or leave it out"))
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }

    pub(crate) fn with_retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// Returns the HTTP status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// Returns the message, which states the problem and how to solve it.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns a response with this body and the headers that the status calls for.
    pub(crate) fn into_response_with(self, body: impl Serialize) -> Response {
        let mut response = (self.status, Json(body)).into_response();
        if let Some(wait) = self.retry_after {
            // Rounded up: a client that retries too early is refused again.
            let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert("www-authenticate", HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// Converts a refusal or failure to the error format of a protocol.
pub(crate) type ErrorFormat = fn(Fault) -> Response;

/// The body of a refusal or failure.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Error")]
pub(crate) struct ErrorBody {
    /// The message, for clients of mem0's open-source server.
    detail: String,
    /// A copy of `detail`, for clients of mem0's platform.
    error: String,
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
            ErrorKind::Unavailable | ErrorKind::Closed => StatusCode::SERVICE_UNAVAILABLE,
            ErrorKind::Unsupported => StatusCode::NOT_IMPLEMENTED,
            ErrorKind::DimensionMismatch | ErrorKind::SchemaMismatch | ErrorKind::Corrupt | ErrorKind::Internal => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self { status, message: error.to_string(), retry_after: error.retry_after() }
    }
}

impl IntoResponse for Fault {
    /// Returns the message in both fields that mem0's clients read.
    fn into_response(self) -> Response {
        let body = ErrorBody { detail: self.message.clone(), error: self.message.clone() };
        self.into_response_with(body)
    }
}
