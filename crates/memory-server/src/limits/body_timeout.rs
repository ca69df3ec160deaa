//! Limits how long a request body may take to arrive.
//!
//! The time-out of `tower-http` begins again with each frame. A client that sends a byte now and then would hold its
//! permit for ever.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::StatusCode,
    middleware::{Next, from_fn_with_state},
    response::Response,
};
use http_body::Body as _;
use tokio::time::{Sleep, sleep};

use super::checked_body::with_checked_body;
use crate::fault::{ErrorFormat, Fault};

/// Refuses a request whose body does not arrive in time, with 408.
#[derive(Debug, Clone, Copy)]
pub(super) struct BodyTimeout(Duration);

impl BodyTimeout {
    /// Creates a limit of this many seconds; 0 for no limit.
    pub(super) fn from_seconds(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }

    pub(super) fn apply(self, router: Router, errors: ErrorFormat) -> Router {
        if self.0.is_zero() { router } else { router.layer(from_fn_with_state((self, errors), check_body_time)) }
    }
}

async fn check_body_time(
    State((BodyTimeout(timeout), errors)): State<(BodyTimeout, ErrorFormat)>,
    request: Request,
    next: Next,
) -> Response {
    // The time starts when the body is first waited for.
    let mut deadline: Option<Pin<Box<Sleep>>> = None;
    let check = move |body: Pin<&mut Body>, context: &mut Context<'_>| {
        let polled = body.poll_frame(context);
        if polled.is_ready() {
            return Ok(polled);
        }
        let deadline = deadline.get_or_insert_with(|| Box::pin(sleep(timeout)));
        if deadline.as_mut().poll(context).is_pending() {
            return Ok(Poll::Pending);
        }
        let message = format!("the request body did not arrive within {} s", timeout.as_secs());
        Err(Fault::new(StatusCode::REQUEST_TIMEOUT, message))
    };
    with_checked_body(request, next, errors, check).await
}
