//! What goes wrong, as mem0's clients read it.

use axum::{
    extract::Request,
    http::StatusCode,
    middleware::Next,
    response::{IntoResponse, Response},
};
use memory_engine::{Error, ErrorKind};
use serde_json::{Value, json};

use crate::fault::Fault;

/// A refusal or failure: `detail` for the open-source server's clients, `error` for the platform's.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    fault: Fault,
    /// The list of fields that are wrong, in place of a sentence.
    fields: Option<Box<Value>>,
    /// What has failed behind the server, by mem0's names.
    code: Option<&'static str>,
}

/// What a handler answers.
pub(super) type Answer = Result<axum::Json<Value>, Failure>;

impl Failure {
    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Fault::bad_request(message).into()
    }

    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Fault::not_found(message).into()
    }

    pub(super) fn forbidden(message: impl Into<String>) -> Self {
        Fault::new(StatusCode::FORBIDDEN, message).into()
    }

    /// Fields that are missing or of another type, as FastAPI lists them.
    pub(super) fn fields(faults: Vec<Value>) -> Self {
        let text = |fault: &Value, key: &str| fault.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let named = |fault: &Value| {
            let at = fault.get("loc").and_then(Value::as_array).and_then(|at| at.last());
            format!("{}: {}", at.and_then(Value::as_str).unwrap_or("body"), text(fault, "msg"))
        };
        let message = faults.iter().map(named).collect::<Vec<_>>().join("; ");
        let fault = Fault::new(StatusCode::UNPROCESSABLE_ENTITY, message);
        Self { fields: Some(Box::new(faults.into())), ..fault.into() }
    }

    /// The sentence alone, as a plain bad request: what the platform answers where the open-source server lists fields.
    pub(super) fn without_fields(self) -> Self {
        Self::bad_request(self.fault.message())
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self { fault, fields: None, code: None }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match error.kind() {
            ErrorKind::Unavailable => "datastore_unavailable",
            ErrorKind::Timeout => "provider_timeout",
            ErrorKind::DimensionMismatch | ErrorKind::SchemaMismatch => "vector_store_unavailable",
            ErrorKind::RateLimited => return Self { code: Some("provider_rate_limited"), ..Fault::from(error).into() },
            ErrorKind::InvalidInput
            | ErrorKind::NotFound
            | ErrorKind::Conflict
            | ErrorKind::Unsupported
            | ErrorKind::Unauthorized => return Fault::from(error).into(),
            ErrorKind::Corrupt | ErrorKind::Internal | _ => "unknown",
        };
        let retry_after = error.retry_after();
        let fault = Fault::new(StatusCode::BAD_GATEWAY, error.to_string());
        let fault = retry_after.map_or(fault.clone(), |wait| fault.with_retry_after(wait));
        Self { code: Some(code), ..fault.into() }
    }
}

impl Failure {
    fn into_response_to(self, request_id: Option<&str>) -> Response {
        let message = self.fault.message();
        let mut body =
            json!({ "detail": self.fields.as_deref().cloned().unwrap_or_else(|| message.into()), "error": message });
        if let Some(code) = self.code {
            body["code"] = code.into();
            body["request_id"] = request_id.into();
        }
        self.fault.clone().into_response_with(body)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = self.clone().into_response_to(None);
        response.extensions_mut().insert(self);
        response
    }
}

/// Puts the id of the request into what is said about a failure, so that it can be looked up in the log.
pub(super) async fn name_the_request(request: Request, next: Next) -> Response {
    let id = request.headers().get("x-request-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
    let response = next.run(request).await;
    match response.extensions().get::<Failure>() {
        Some(failure) if failure.code.is_some() => failure.clone().into_response_to(id.as_deref()),
        _ => response,
    }
}
