//! Errors, in the format that mem0's clients read.

use axum::{
    extract::Request,
    http::StatusCode,
    middleware::Next,
    response::{IntoResponse, Response},
};
use memory_engine::{Error, ErrorKind};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::fault::Fault;

/// An error: clients of the open-source server read `detail`, those of the platform read `error`.
#[derive(Debug, Clone)]
pub(super) struct Mem0Error {
    fault: Box<Fault>,
    /// The invalid fields, which replace the message in `detail`.
    fields: Option<Box<Value>>,
    /// mem0's code for a failure of the server or its backends.
    code: Option<&'static str>,
}

/// An invalid field, as FastAPI reports it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct FieldFault {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) loc: Vec<Value>,
    msg: String,
    /// The names of the fields that were sent, for a missing field.
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<Box<Value>>,
}

/// The body of a refusal or failure.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Mem0Error")]
pub(super) struct Mem0ErrorBody {
    /// The message; with 422, the invalid fields.
    #[schemars(with = "ErrorDetail")]
    detail: Value,
    /// The message.
    error: String,
    /// mem0's code for a failure of the server or its backends.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<Value>,
}

#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "describes a field of the body")]
enum ErrorDetail {
    Message(String),
    Fields(Vec<FieldFault>),
}

impl FieldFault {
    pub(super) fn new(kind: impl Into<String>, loc: &[&str], message: impl Into<String>) -> Self {
        let loc = loc.iter().map(|part| (*part).into()).collect();
        Self { kind: kind.into(), loc, msg: message.into(), input: None }
    }

    /// Reports a missing field. `sent` are the names of the fields in the body; their values may be long.
    pub(super) fn missing(loc: &[&str], sent: Option<Vec<String>>) -> Self {
        Self { input: Some(Box::new(json!(sent))), ..Self::new("missing", loc, "Field required") }
    }

    fn field_name(&self) -> &str {
        self.loc.last().and_then(Value::as_str).unwrap_or("body")
    }
}

impl Mem0Error {
    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Fault::bad_request(message).into()
    }

    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Fault::not_found(message).into()
    }

    pub(super) fn forbidden(message: impl Into<String>) -> Self {
        Fault::new(StatusCode::FORBIDDEN, message).into()
    }

    /// Reports invalid fields with 422.
    pub(super) fn fields(faults: &[FieldFault]) -> Self {
        let messages: Vec<String> =
            faults.iter().map(|fault| format!("{}: {}", fault.field_name(), fault.msg)).collect();
        let fault = Fault::new(StatusCode::UNPROCESSABLE_ENTITY, messages.join("; "));
        Self { fields: Some(Box::new(json!(faults))), ..fault.into() }
    }

    /// Replaces the list of fields with one message and the status 400, as on the platform.
    pub(super) fn without_fields(self) -> Self {
        Self::bad_request(self.fault.message())
    }

    fn into_response_to(self, request_id: Option<&str>) -> Response {
        let error = self.fault.message().to_owned();
        let detail = self.fields.map_or_else(|| error.as_str().into(), |fields| *fields);
        let request_id = self.code.map(|_| request_id.into());
        self.fault.into_response_with(Mem0ErrorBody { detail, error, code: self.code, request_id })
    }
}

impl From<Fault> for Mem0Error {
    fn from(fault: Fault) -> Self {
        Self { fault: Box::new(fault), fields: None, code: None }
    }
}

impl From<Error> for Mem0Error {
    fn from(error: Error) -> Self {
        let code = match error.kind() {
            ErrorKind::Unavailable | ErrorKind::Closed => "datastore_unavailable",
            ErrorKind::Timeout => "provider_timeout",
            ErrorKind::DimensionMismatch | ErrorKind::SchemaMismatch => "vector_store_unavailable",
            ErrorKind::RateLimited => return Self { code: Some("provider_rate_limited"), ..Fault::from(error).into() },
            ErrorKind::InvalidInput
            | ErrorKind::NotFound
            | ErrorKind::Conflict
            | ErrorKind::Unsupported
            | ErrorKind::Unauthorized => return Fault::from(error).into(),
            ErrorKind::Corrupt | ErrorKind::Internal => "unknown",
            _ => "unknown",
        };
        let retry_after = error.retry_after();
        let fault = Fault::new(StatusCode::BAD_GATEWAY, error.to_string());
        let fault = retry_after.map_or(fault.clone(), |wait| fault.with_retry_after(wait));
        Self { code: Some(code), ..fault.into() }
    }
}

impl IntoResponse for Mem0Error {
    fn into_response(self) -> Response {
        let mut response = self.clone().into_response_to(None);
        response.extensions_mut().insert(self);
        response
    }
}

/// Adds the id of the request to responses with an error code, so that they can be found in the log.
pub(super) async fn add_request_id(request: Request, next: Next) -> Response {
    let id = request.headers().get("x-request-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
    let response = next.run(request).await;
    match response.extensions().get::<Mem0Error>() {
        Some(error) if error.code.is_some() => error.clone().into_response_to(id.as_deref()),
        _ => response,
    }
}
