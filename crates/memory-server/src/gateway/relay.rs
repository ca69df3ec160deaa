//! Requests to upstreams, and their responses.

use axum::{
    body::{Body, Bytes},
    http::{
        HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri,
        header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE},
        request::Parts,
    },
    response::Response,
};
use memory_engine::{Error, ErrorKind, http_models::RelayRequest};

use super::{dialect::Dialect, json::is_json, upstream::Service};
use crate::fault::Fault;

/// Maximum number of characters that an error message quotes from an upstream's response.
const QUOTE_MAX_CHARS: usize = 500;
/// The header with the key of Anthropic's API.
const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// Builds the request to an upstream. The headers that are meant for this server are removed.
pub(super) fn upstream_request(
    method: Method,
    path: &[&str],
    uri: &Uri,
    headers: HeaderMap,
    body: Bytes,
) -> RelayRequest {
    let headers = without_own_headers(headers);
    RelayRequest::new(method, path).with_query(uri.query()).with_headers(headers).with_body(body)
}

fn without_own_headers(mut headers: HeaderMap) -> HeaderMap {
    let own_headers: Vec<_> = headers.keys().filter(|name| is_own_header(name.as_str())).cloned().collect();
    for name in own_headers {
        headers.remove(name);
    }
    // Clients without a key send only the scheme.
    if headers.get(AUTHORIZATION).is_some_and(|value| !has_credentials(value)) {
        headers.remove(AUTHORIZATION);
    }
    headers
}

/// Returns true if the value of `Authorization` has more than a scheme.
pub(super) fn has_credentials(authorization: &HeaderValue) -> bool {
    authorization.as_bytes().trim_ascii().contains(&b' ')
}

/// Returns the headers of a request in a dialect. The key of the upstream replaces the keys of the client. Anthropic's
/// API reads the key in `x-api-key`, the others in `Authorization`.
pub(super) fn upstream_headers(dialect: Dialect, service: &Service, mut headers: HeaderMap) -> HeaderMap {
    let has_key = service.has_key(dialect);
    let api_key = headers.remove(API_KEY).filter(|_| dialect == Dialect::Messages && !has_key);
    if dialect == Dialect::Messages && has_key {
        headers.remove(AUTHORIZATION);
    }
    let mut headers = without_own_headers(headers);
    headers.extend(api_key.map(|key| (API_KEY, key)));
    headers
}

/// Builds a request in a dialect, with the method and query of the client.
pub(super) fn dialect_request(
    dialect: Dialect,
    service: &Service,
    path: &[&str],
    parts: Parts,
    body: Bytes,
) -> RelayRequest {
    let headers = upstream_headers(dialect, service, parts.headers);
    RelayRequest::new(parts.method, path).with_query(parts.uri.query()).with_headers(headers).with_body(body)
}

/// Returns true for headers that are meant for this server.
fn is_own_header(name: &str) -> bool {
    name.starts_with("x-memory")
        || matches!(name, "x-api-key" | "x-session-id" | "x-user-id" | "x-agent-id" | "x-timezone")
}

/// Builds a response with the status and headers of the upstream.
pub(super) fn response(status: StatusCode, headers: HeaderMap, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// Builds the response to a request that an upstream answered with this body. Clients expect JSON: an error page is put
/// into an error in the format of the dialect with the same status, and any other body that is not JSON is a 502.
pub(super) fn json_response(
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
    service: &str,
    dialect: Dialect,
) -> Response {
    if is_json(&body) {
        return response(status, headers, Body::from(body));
    }
    if status.is_success() {
        return dialect.error_response(not_json_fault(service));
    }
    let text = String::from_utf8_lossy(&body);
    let quote: String = text.trim().chars().take(QUOTE_MAX_CHARS).collect();
    let message = format!("the upstream '{service}' answered with status {status}: {quote}");
    let mut wrapped = dialect.error_response(Fault::new(status, message));
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
