//! Requests to upstreams, and their responses.

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, Method, StatusCode, Uri, header::AUTHORIZATION},
    response::Response,
};
use memory_engine::{Error, ErrorKind, http_models::RelayRequest};

use crate::fault::Fault;

/// Builds the request to an upstream: without the headers that are meant for this server.
pub(super) fn upstream_request(
    method: Method,
    path: &[&str],
    uri: &Uri,
    mut headers: HeaderMap,
    body: Bytes,
) -> RelayRequest {
    let is_ours = |name: &str| {
        name.starts_with("x-memory") || matches!(name, "x-api-key" | "x-session-id" | "x-user-id" | "x-agent-id")
    };
    let names: Vec<_> = headers.keys().filter(|name| is_ours(name.as_str())).cloned().collect();
    for name in names {
        headers.remove(name);
    }
    // Clients without a key send a scheme alone.
    if headers.get(AUTHORIZATION).is_some_and(|value| !value.as_bytes().trim_ascii().contains(&b' ')) {
        headers.remove(AUTHORIZATION);
    }
    RelayRequest::new(method, path).with_query(uri.query()).with_headers(headers).with_body(body)
}

/// Builds a response with the status and headers of the upstream.
pub(super) fn response(status: StatusCode, headers: HeaderMap, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// Reports an upstream that failed. The status tells the client whether to retry.
#[allow(clippy::wildcard_enum_match_arm, reason = "all other failures mean that the upstream gave no answer")]
pub(super) fn upstream_fault(error: &Error, service: &str) -> Fault {
    count("upstream_errors", service);
    let (status, what) = match error.kind() {
        ErrorKind::Timeout => (StatusCode::GATEWAY_TIMEOUT, "did not answer in time"),
        ErrorKind::Corrupt => (StatusCode::BAD_GATEWAY, "gave an answer that is too large"),
        _ => (StatusCode::BAD_GATEWAY, "cannot be reached, or hung up"),
    };
    tracing::warn!(upstream = service, %error, "an upstream failed");
    Fault::new(status, format!("the upstream '{service}' {what}"))
}

/// Counts an event of the gateway.
pub(super) fn count(event: &'static str, of: &str) {
    metrics::counter!("memory_gateway_events_total", "event" => event, "of" => of.to_owned()).increment(1);
}
