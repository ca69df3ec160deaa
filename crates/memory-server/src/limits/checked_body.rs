//! Requests whose body is checked while it arrives.

use std::{
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll},
};

use axum::{body::Body, extract::Request, middleware::Next, response::Response};

use super::polled_body::{PolledFrame, polled_body};
use crate::fault::{ErrorFormat, Fault};

/// Passes a request on with a body that `check` polls for each frame.
///
/// If `check` refuses the request, the body ends in an error, and the refusal replaces the response, which was made
/// from an incomplete body.
pub(super) async fn with_checked_body<F>(request: Request, next: Next, errors: ErrorFormat, mut check: F) -> Response
where
    F: FnMut(Pin<&mut Body>, &mut Context<'_>) -> Result<PolledFrame, Fault> + Send + Unpin + 'static,
{
    let refusal: Arc<OnceLock<Fault>> = Arc::default();
    let set_refusal = Arc::clone(&refusal);
    let poll = move |body: Pin<&mut Body>, context: &mut Context<'_>| {
        check(body, context).unwrap_or_else(|fault| {
            let error = axum::Error::new(fault.message().to_owned());
            let _ = set_refusal.set(fault); // Fails if the body is polled again after its end.
            Poll::Ready(Some(Err(error)))
        })
    };
    let response = next.run(request.map(|body| polled_body(body, poll))).await;
    match refusal.get() {
        Some(fault) => errors(fault.clone()),
        None => response,
    }
}
