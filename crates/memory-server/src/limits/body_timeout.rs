//! Limits how long a request body may take to arrive.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Request, State},
    http::StatusCode,
    middleware::{Next, from_fn_with_state},
    response::Response,
};
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::{Sleep, sleep};

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
    let is_late = Arc::new(AtomicBool::new(false));
    let request =
        request.map(|body| Body::new(TimedBody { body, timeout, deadline: None, is_late: Arc::clone(&is_late) }));
    let response = next.run(request).await;
    if is_late.load(Ordering::Relaxed) {
        // The response was made from an incomplete body.
        let message = format!("the request body did not arrive within {} s", timeout.as_secs());
        return errors(Fault::new(StatusCode::REQUEST_TIMEOUT, message));
    }
    response
}

/// A request body that ends in an error at the deadline. The time starts when the body is first waited for.
struct TimedBody {
    body: Body,
    timeout: Duration,
    deadline: Option<Pin<Box<Sleep>>>,
    is_late: Arc<AtomicBool>,
}

impl HttpBody for TimedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            return Poll::Ready(frame);
        }
        let timeout = self.timeout;
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(sleep(timeout)));
        ready!(deadline.as_mut().poll(context));
        self.is_late.store(true, Ordering::Relaxed);
        Poll::Ready(Some(Err(axum::Error::new(io::Error::from(io::ErrorKind::TimedOut)))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
