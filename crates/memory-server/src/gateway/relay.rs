//! Requests to upstreams, and their responses.

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, Method, StatusCode, Uri, header::AUTHORIZATION},
    response::Response,
};
use memory_engine::{Error, ErrorKind, http_models::RelayRequest};

use crate::fault::Fault;

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
