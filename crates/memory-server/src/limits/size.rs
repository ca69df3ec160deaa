//! Limits the size of request bodies.

use axum::{
    Router,
    extract::{DefaultBodyLimit, Request, State},
    http::{StatusCode, header::CONTENT_LENGTH},
    middleware::{Next, from_fn_with_state},
    response::Response,
};
use tower_http::limit::RequestBodyLimitLayer;

use crate::fault::{ErrorFormat, Fault};

/// Refuses request bodies above a size, with 413.
#[derive(Debug, Clone, Copy)]
pub(super) struct SizeLimit {
    max_bytes: usize,
}

impl SizeLimit {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self { max_bytes }
    }

    pub(super) fn max_bytes(self) -> usize {
        self.max_bytes
    }

    /// Stops reading a body at the limit, even if the request announced a smaller length.
    pub(super) fn limit_body(self, router: Router) -> Router {
        // Disables the separate limit of axum's extractors, which could be smaller.
        router.layer(RequestBodyLimitLayer::new(self.max_bytes)).layer(DefaultBodyLimit::disable())
    }

    /// Refuses a request by its `Content-Length`, before any other work.
    pub(super) fn check_length(self, router: Router, errors: ErrorFormat) -> Router {
        router.layer(from_fn_with_state((self, errors), check_announced_length))
    }
}

async fn check_announced_length(
    State((limit, errors)): State<(SizeLimit, ErrorFormat)>,
    request: Request,
    next: Next,
) -> Response {
    let length = request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|length| length > limit.max_bytes) {
        let message = format!("the request is too large; the maximum is {} bytes", limit.max_bytes);
        return errors(Fault::new(StatusCode::PAYLOAD_TOO_LARGE, message));
    }
    next.run(request).await
}
