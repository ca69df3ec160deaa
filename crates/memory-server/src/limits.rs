//! How much of everything.

use std::{
    num::NonZeroU32,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{DefaultBodyLimit, Request, State},
    http::{StatusCode, header::CONTENT_LENGTH},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
};
use governor::{
    DefaultKeyedRateLimiter, Quota, RateLimiter,
    clock::{Clock, DefaultClock},
};
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tower_http::limit::RequestBodyLimitLayer;

use crate::{Access, LimitsConfig, fault::Fault, guard::Wording};

/// How much a server takes on: what is more is sent away at once, with when to come again.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    max_body_bytes: usize,
    concurrent: Arc<Semaphore>,
    /// By the name of the key.
    rate: Option<Arc<DefaultKeyedRateLimiter<String>>>,
}

impl Limits {
    pub(crate) fn new(config: &LimitsConfig) -> Self {
        let a_minute = NonZeroU32::new(config.requests_per_minute);
        Self {
            max_body_bytes: config.max_body_bytes,
            concurrent: Arc::new(Semaphore::new(config.max_concurrent.min(Semaphore::MAX_PERMITS))),
            rate: a_minute.map(|a_minute| Arc::new(RateLimiter::keyed(Quota::per_minute(a_minute)))),
        }
    }

    /// Sets the limits before all routes of a router. It belongs behind the guard: who has no key uses up nobody's rate.
    pub(crate) fn apply(&self, router: Router, wording: Wording) -> Router {
        router
            // The first is for whoever reads the body itself, the second for axum's extractors, which have a limit of their own.
            .layer(RequestBodyLimitLayer::new(self.max_body_bytes))
            .layer(DefaultBodyLimit::disable())
            .layer(from_fn_with_state((self.clone(), wording), admit))
    }

    fn admits(&self, request: &Request) -> Result<OwnedSemaphorePermit, Fault> {
        let access = request.extensions().get::<Access>();
        let length =
            request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
        if length.is_some_and(|length| length > self.max_body_bytes) {
            let message = format!("a request has {} bytes at the most", self.max_body_bytes);
            return Err(Fault::new(StatusCode::PAYLOAD_TOO_LARGE, message));
        }
        if let (Some(rate), Some(access)) = (&self.rate, access)
            && let Err(until) = rate.check_key(&access.name().to_owned())
        {
            let wait = until.wait_time_from(DefaultClock::default().now());
            return Err(
                Fault::new(StatusCode::TOO_MANY_REQUESTS, "too many requests with this key").with_retry_after(wait)
            );
        }
        let full = |_| {
            let fault = Fault::new(StatusCode::SERVICE_UNAVAILABLE, "the server is doing all it can at a time");
            fault.with_retry_after(Duration::from_secs(1))
        };
        Arc::clone(&self.concurrent).try_acquire_owned().map_err(full)
    }
}

async fn admit(State((limits, wording)): State<(Limits, Wording)>, request: Request, next: Next) -> Response {
    match limits.admits(&request) {
        Ok(permit) => next.run(request).await.map(|body| Body::new(Held { body, _permit: permit })),
        Err(fault) if wording == Wording::OpenAi => fault.into_openai(),
        Err(fault) => fault.into_response(),
    }
}

/// A body that counts as being served until its last byte is gone, or its reader is.
struct Held {
    body: Body,
    _permit: OwnedSemaphorePermit,
}

impl HttpBody for Held {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use axum::{body::to_bytes, routing::get};
    use futures::stream;
    use tower::ServiceExt;

    use super::*;
    use crate::Guard;

    fn app(config: LimitsConfig) -> Router {
        let endless = || async { Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>()) };
        let echo = |text: String| async move { text };
        let router = Router::new().route("/", get(|| async { "ok" }).post(echo)).route("/endless", get(endless));
        let router = Limits::new(&config).apply(router, Wording::Mem0);
        Guard::open(Access::tenant("everybody", "default").unwrap()).protect(router, Wording::Mem0)
    }

    async fn ask(app: &Router, method: &str, path: &str, body: &str) -> Response {
        let request = Request::builder().method(method).uri(path).body(Body::from(body.to_owned())).unwrap();
        app.clone().oneshot(request).await.unwrap()
    }

    #[tokio::test]
    async fn who_comes_too_often_is_told_when_to_come_again() {
        let app = app(LimitsConfig { requests_per_minute: 2, ..LimitsConfig::default() });
        let mut statuses = Vec::new();
        for _ in 0..3 {
            statuses.push(ask(&app, "GET", "/", "").await.status().as_u16());
        }
        assert_eq!(statuses, [200, 200, 429]);
        let refused = ask(&app, "GET", "/", "").await;
        let wait: u64 = refused.headers()["retry-after"].to_str().unwrap().parse().unwrap();
        assert!((1..=30).contains(&wait), "{wait}");
    }

    #[tokio::test]
    async fn an_answer_that_is_still_being_read_takes_a_place() {
        let app = app(LimitsConfig { max_concurrent: 1, ..LimitsConfig::default() });
        let reading = ask(&app, "GET", "/endless", "").await;
        let refused = ask(&app, "GET", "/", "").await;
        assert_eq!((refused.status().as_u16(), refused.headers().contains_key("retry-after")), (503, true));
        drop(reading);
        assert_eq!(ask(&app, "GET", "/", "").await.status().as_u16(), 200);
    }

    #[tokio::test]
    async fn a_request_that_is_too_large_is_refused() {
        let app = app(LimitsConfig { max_body_bytes: 8, ..LimitsConfig::default() });
        assert_eq!(ask(&app, "POST", "/", "123456789").await.status().as_u16(), 413);
        let taken = ask(&app, "POST", "/", "12345678").await;
        assert_eq!(to_bytes(taken.into_body(), 100).await.unwrap(), "12345678");
    }
}
