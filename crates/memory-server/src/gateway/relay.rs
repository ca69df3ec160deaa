//! Requests to upstreams, and their responses.

use axum::{
    body::{Body, Bytes},
    http::{
        HeaderMap, Method, StatusCode, Uri,
        header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE},
    },
    response::Response,
};
use memory_engine::{Error, ErrorKind, http_models::RelayRequest};

use super::{json::is_json, openai::error_response};
use crate::fault::Fault;

/// Maximum number of characters that an error message quotes from an upstream's response.
const QUOTE_MAX_CHARS: usize = 500;

/// Builds the request to an upstream. The headers that are meant for this server are removed.
pub(super) fn upstream_request(
    method: Method,
    path: &[&str],
    uri: &Uri,
    mut headers: HeaderMap,
    body: Bytes,
) -> RelayRequest {
    let own_headers: Vec<_> = headers.keys().filter(|name| is_own_header(name.as_str())).cloned().collect();
    for name in own_headers {
        headers.remove(name);
    }
    // Clients without a key send only the scheme.
    if headers.get(AUTHORIZATION).is_some_and(|value| !value.as_bytes().trim_ascii().contains(&b' ')) {
        headers.remove(AUTHORIZATION);
    }
    RelayRequest::new(method, path).with_query(uri.query()).with_headers(headers).with_body(body)
}

/// Returns true for headers that are meant for this server.
fn is_own_header(name: &str) -> bool {
    name.starts_with("x-memory") || matches!(name, "x-api-key" | "x-session-id" | "x-user-id" | "x-agent-id")
}

/// Builds a response with the status and headers of the upstream.
pub(super) fn response(status: StatusCode, headers: HeaderMap, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// Builds the response to a request that an upstream answered with this body. Clients expect JSON: an error page is put
/// into an error in the format of OpenAI's API with the same status, and any other body that is not JSON is a 502.
pub(super) fn json_response(status: StatusCode, headers: HeaderMap, body: Bytes, service: &str) -> Response {
    if is_json(&body) {
        return response(status, headers, Body::from(body));
    }
    if status.is_success() {
        return error_response(not_json_fault(service));
    }
    let text = String::from_utf8_lossy(&body);
    let quote: String = text.trim().chars().take(QUOTE_MAX_CHARS).collect();
    let message = format!("the upstream '{service}' answered with status {status}: {quote}");
    let mut wrapped = error_response(Fault::new(status, message));
    for (name, value) in &headers {
        if name != CONTENT_TYPE && name != CONTENT_LENGTH {
            wrapped.headers_mut().insert(name, value.clone());
        }
    }
    wrapped
}

/// Reports an upstream that sent something other than JSON.
pub(super) fn not_json_fault(service: &str) -> Fault {
    count_event("upstream_errors", service);
    tracing::warn!(upstream = service, "an upstream sent a reply that is not JSON");
    Fault::new(StatusCode::BAD_GATEWAY, format!("the upstream '{service}' sent a reply that is not JSON"))
}

/// Reports an upstream that failed. The status tells the client whether to retry.
#[allow(clippy::wildcard_enum_match_arm, reason = "all other failures mean that there is no response")]
pub(super) fn upstream_fault(error: &Error, service: &str) -> Fault {
    count_event("upstream_errors", service);
    let (status, problem) = match error.kind() {
        ErrorKind::Timeout => (StatusCode::GATEWAY_TIMEOUT, "did not answer in time"),
        ErrorKind::Corrupt => (StatusCode::BAD_GATEWAY, "sent a response that is too large"),
        _ => (StatusCode::BAD_GATEWAY, "cannot be reached, or closed the connection"),
    };
    tracing::warn!(upstream = service, %error, "an upstream failed");
    Fault::new(status, format!("the upstream '{service}' {problem}"))
}

/// Counts an event of the gateway.
pub(super) fn count_event(event: &'static str, of: &str) {
    metrics::counter!("memory_gateway_events_total", "event" => event, "of" => of.to_owned()).increment(1);
}
