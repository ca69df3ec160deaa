//! Answers to requests that are not messages of the protocol.

use axum::{
    Json,
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{HeaderMap, Method, StatusCode, header::CONTENT_TYPE},
    middleware::Next,
    response::{IntoResponse, Response},
};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, json};

use crate::fault::Fault;

/// The error code of JSON-RPC for a body that is not JSON.
const PARSE_ERROR: i32 = -32700;
/// The error code of JSON-RPC for JSON that is not a message.
const INVALID_REQUEST: i32 = -32600;

/// Answers a body that the transport cannot read with 400 and an error of JSON-RPC. The transport answers it like
/// another media type, with 415 and plain text. `max_bytes` is the maximum size of a body.
pub(super) async fn report_parse_errors(State(max_bytes): State<usize>, request: Request, next: Next) -> Response {
    if request.method() != Method::POST || !is_json_type(request.headers()) {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let Ok(bytes) = to_bytes(body, max_bytes).await else {
        let message = format!("the body could not be read, or is larger than the maximum of {max_bytes} bytes");
        return Fault::new(StatusCode::PAYLOAD_TOO_LARGE, message).into_response();
    };
    let response = next.run(Request::from_parts(parts, Body::from(bytes.clone()))).await;
    if response.status() != StatusCode::UNSUPPORTED_MEDIA_TYPE {
        return response;
    }
    (StatusCode::BAD_REQUEST, Json(refusal(&bytes))).into_response()
}

/// Returns the answer to a text that is no message.
pub(super) fn refusal(text: &[u8]) -> Value {
    let (code, message) = match serde_json::from_slice::<IgnoredAny>(text) {
        Err(_) => (PARSE_ERROR, "Parse error: this is not JSON"),
        Ok(_) => (INVALID_REQUEST, "Invalid Request: this is not a message of JSON-RPC 2.0"),
    };
    json!({ "jsonrpc": "2.0", "id": Value::Null, "error": { "code": code, "message": message } })
}

/// The members that tell a message from other JSON.
#[derive(Deserialize)]
struct Envelope {
    jsonrpc: String,
    id: Option<Value>,
    method: Option<String>,
    result: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

/// Returns true for a message of JSON-RPC 2.0, whatever its parameters.
pub(super) fn is_message(text: &str) -> bool {
    let Ok(Envelope { jsonrpc, id, method, result, error }) = serde_json::from_str(text) else { return false };
    let has_valid_id = id.is_none_or(|id| id.is_string() || id.is_i64());
    jsonrpc == "2.0" && has_valid_id && (method.is_some() || result.is_some() || error.is_some())
}

fn is_json_type(headers: &HeaderMap) -> bool {
    let media_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    media_type.is_some_and(|value| value.trim_start().to_ascii_lowercase().starts_with("application/json"))
}
