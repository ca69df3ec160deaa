//! Bodies whose frames pass through a function.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use axum::body::{Body, Bytes};
use http_body::{Body as HttpBody, Frame, SizeHint};

/// The result of polling a body for its next frame.
pub(super) type PolledFrame = Poll<Option<Result<Frame<Bytes>, axum::Error>>>;

/// A body that a function polls for each frame. What the function owns is dropped after the body.
struct PolledBody<F> {
    body: Body,
    poll: F,
}

/// Returns a body whose frames are those that `poll` returns for the inner body.
pub(super) fn polled_body<F>(body: Body, poll: F) -> Body
where
    F: FnMut(Pin<&mut Body>, &mut Context<'_>) -> PolledFrame + Send + Unpin + 'static,
{
    Body::new(PolledBody { body, poll })
}

impl<F: FnMut(Pin<&mut Body>, &mut Context<'_>) -> PolledFrame + Unpin> HttpBody for PolledBody<F> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> PolledFrame {
        let Self { body, poll } = &mut *self;
        poll(Pin::new(body), context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
