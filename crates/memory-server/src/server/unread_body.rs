//! Handles request bodies that the handler did not read to the end, for example after a refused API key.
//!
//! HTTP/1.1 cannot read the next request before the end of the body. A remainder of at most 64 KiB is read and
//! discarded. Otherwise the response contains `Connection: close`, so that the client opens another connection.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    body::{Body, Bytes},
    extract::Request,
    http::{
        HeaderMap, HeaderValue,
        header::{CONNECTION, CONTENT_LENGTH, EXPECT},
    },
    middleware::Next,
    response::Response,
};
use http_body::{Body as HttpBody, Frame, SizeHint};
use parking_lot::Mutex;
use tokio::time::timeout;

/// Maximum number of bytes that are read and discarded.
const MAX_DISCARDED_BYTES: u64 = 64 << 10;
/// Maximum time to read the remainder. The response waits for it.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(1);

/// Discards the unread remainder of the request body, or sets `Connection: close`.
pub(super) async fn finish_body(request: Request, next: Next) -> Response {
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    let may_discard = may_discard(request.headers());
    let unread: Arc<Mutex<Option<Body>>> = Arc::default();
    let request = request.map(|body| Body::new(TrackedBody { body: Some(body), unread: Arc::clone(&unread) }));
    let mut response = next.run(request).await;
    let rest = unread.lock().take();
    if let Some(rest) = rest
        && !(may_discard && discard(rest).await)
    {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// Returns false for a body that is known to be too large, and for a client that waits for a response before it sends
/// the body.
fn may_discard(headers: &HeaderMap) -> bool {
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    !headers.contains_key(EXPECT) && length.is_none_or(|length| length <= MAX_DISCARDED_BYTES)
}

/// Reads a body to its end. Returns false if it is too large, too slow or broken.
async fn discard(mut body: Body) -> bool {
    let read = async {
        let mut count = 0;
        while let Some(frame) = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
            count += frame.ok()?.data_ref().map_or(0, |data| data.len() as u64);
            if count > MAX_DISCARDED_BYTES {
                return None;
            }
        }
        Some(())
    };
    matches!(timeout(DISCARD_TIMEOUT, read).await, Ok(Some(())))
}

/// A request body that hands itself back if it is dropped before its end.
struct TrackedBody {
    /// `None` after the end.
    body: Option<Body>,
    unread: Arc<Mutex<Option<Body>>>,
}

impl HttpBody for TrackedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let polled = Pin::new(body).poll_frame(context);
        if matches!(polled, Poll::Ready(None | Some(Err(_)))) {
            self.body = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(SizeHint::default, HttpBody::size_hint)
    }
}

impl Drop for TrackedBody {
    fn drop(&mut self) {
        if let Some(body) = self.body.take().filter(|body| !body.is_end_stream()) {
            *self.unread.lock() = Some(body);
        }
    }
}
