//! The span of a request to a model. It contains the host and no path, query, credentials or bodies.

use memory_engine_core::{
    observe::tracing::{Span, field::Empty},
    operation_span,
};
use reqwest::{Method, Url};

/// Creates the span of a request with its retries.
pub(crate) fn request_span(operation: &'static str, method: &Method, url: &Url) -> Span {
    operation_span!(
        DEBUG,
        "memory_engine.model.request",
        operation = operation,
        "otel.kind" = "client",
        "http.request.method" = method.as_str(),
        "server.address" = url.host_str().unwrap_or_default(),
        "server.port" = url.port_or_known_default().unwrap_or_default(),
        "http.response.status_code" = Empty,
        "http.request.resend_count" = Empty,
    )
}
