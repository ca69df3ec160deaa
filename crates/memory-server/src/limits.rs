//! How much of everything.

use std::{
    collections::BTreeMap,
    io,
    num::NonZeroU32,
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
use parking_lot::Mutex;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError},
    time::{Sleep, sleep},
};
use tower_http::limit::RequestBodyLimitLayer;

use crate::{Access, LimitsConfig, fault::Fault, guard::Wording};

/// How much a server takes on: what is more is sent away at once, with when to come again.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    max_body_bytes: usize,
    /// How long the body of a request may take to come; zero for as long as it likes.
    body_patience: Duration,
    concurrent: Arc<Semaphore>,
    of_key: Arc<OfKey>,
    /// By the name of the key.
    rate: Option<Arc<DefaultKeyedRateLimiter<String>>>,
}

/// How many requests of each key are served at a time, by the name of the key.
#[derive(Debug)]
struct OfKey {
    /// Zero for as many as there are places.
    most: usize,
    places: Mutex<BTreeMap<String, Arc<Semaphore>>>,
}

impl OfKey {
    /// A place, unless all are taken; none is needed where there is no limit.
    fn admits(&self, key: &str) -> Result<Option<OwnedSemaphorePermit>, TryAcquireError> {
        if self.most == 0 {
            return Ok(None);
        }
        let places = {
            let mut all = self.places.lock();
            let new = || Arc::new(Semaphore::new(self.most.min(Semaphore::MAX_PERMITS)));
            Arc::clone(all.entry(key.to_owned()).or_insert_with(new))
        };
        places.try_acquire_owned().map(Some)
    }
}

/// The places that a request takes: the server's, and its key's.
type Places = (OwnedSemaphorePermit, Option<OwnedSemaphorePermit>);

impl Limits {
    pub(crate) fn new(config: &LimitsConfig) -> Self {
        let a_minute = NonZeroU32::new(config.requests_per_minute);
        Self {
            max_body_bytes: config.max_body_bytes,
            body_patience: Duration::from_secs(config.body_seconds),
            of_key: Arc::new(OfKey { most: config.max_concurrent_per_key, places: Mutex::default() }),
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

    fn admits(&self, request: &Request) -> Result<Places, Fault> {
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
        let full = |status: StatusCode, what: &str| Fault::new(status, what).with_retry_after(Duration::from_secs(1));
        let too_many = |_| full(StatusCode::TOO_MANY_REQUESTS, "too many requests with this key at a time");
        let own = access.map(|access| self.of_key.admits(access.name())).transpose().map_err(too_many)?.flatten();
        let all = |_| full(StatusCode::SERVICE_UNAVAILABLE, "the server is doing all it can at a time");
        Ok((Arc::clone(&self.concurrent).try_acquire_owned().map_err(all)?, own))
    }

    /// A request whose body has to be there in time, and whether it was late.
    fn timed(&self, request: Request) -> (Request, Arc<AtomicBool>) {
        let (patience, late) = (self.body_patience, Arc::new(AtomicBool::new(false)));
        if patience.is_zero() {
            return (request, late);
        }
        let timed = |body| Body::new(Timed { body, patience, deadline: None, late: Arc::clone(&late) });
        (request.map(timed), late)
    }
}

async fn admit(State((limits, wording)): State<(Limits, Wording)>, request: Request, next: Next) -> Response {
    let refused = |fault: Fault| match wording {
        Wording::OpenAi => fault.into_openai(),
        Wording::Mem0 => fault.into_response(),
    };
    let places = match limits.admits(&request) {
        Ok(places) => places,
        Err(fault) => return refused(fault),
    };
    let (request, late) = limits.timed(request);
    let response = next.run(request).await;
    if late.load(Ordering::Relaxed) {
        // Whatever was made of half a body.
        let message = format!("the body did not come within {} s", limits.body_patience.as_secs());
        return refused(Fault::new(StatusCode::REQUEST_TIMEOUT, message));
    }
    response.map(|body| Body::new(Held { body, _places: places }))
}

/// The body of a request, which ends in an error when it is not there in time. The time begins when it is first waited for.
struct Timed {
    body: Body,
    patience: Duration,
    deadline: Option<Pin<Box<Sleep>>>,
    late: Arc<AtomicBool>,
}

impl HttpBody for Timed {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            return Poll::Ready(frame);
        }
        let patience = self.patience;
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(sleep(patience)));
        ready!(deadline.as_mut().poll(context));
        self.late.store(true, Ordering::Relaxed);
        Poll::Ready(Some(Err(axum::Error::new(io::Error::from(io::ErrorKind::TimedOut)))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A body that counts as being served until its last byte is gone, or its reader is.
struct Held {
    body: Body,
    _places: Places,
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

    use axum::{
        body::to_bytes,
        routing::{get, post},
    };
    use futures::stream;
    use tower::ServiceExt;

    use super::*;
    use crate::{ApiKey, Guard, KeyRing};

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
    async fn one_key_cannot_take_all_places() {
        let endless = || async { Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>()) };
        let keys = [ApiKey::generate(), ApiKey::generate()];
        let ring = keys.iter().enumerate().fold(KeyRing::default(), |ring, (i, key)| {
            ring.with_key(key, Access::tenant(format!("key {i}"), "default").unwrap())
        });
        let config = LimitsConfig { max_concurrent: 3, max_concurrent_per_key: 2, ..LimitsConfig::default() };
        let router = Limits::new(&config).apply(Router::new().route("/", get(endless)), Wording::Mem0);
        let app = Guard::keys(ring).protect(router, Wording::Mem0);
        let ask = |key: usize| {
            let request = Request::builder().header("x-api-key", keys[key].reveal()).body(Body::empty()).unwrap();
            app.clone().oneshot(request)
        };
        let (first, second) = (ask(0).await.unwrap(), ask(0).await.unwrap());
        let third = ask(0).await.unwrap();
        assert_eq!((third.status().as_u16(), third.headers().contains_key("retry-after")), (429, true));
        let other = ask(1).await.unwrap();
        assert_eq!((first.status().as_u16(), second.status().as_u16(), other.status().as_u16()), (200, 200, 200));
        assert_eq!(ask(1).await.unwrap().status().as_u16(), 503, "there are no more places for anybody");
        drop(first);
        assert_eq!(ask(0).await.unwrap().status().as_u16(), 200);
    }

    #[tokio::test]
    async fn a_body_that_does_not_come_is_told_in_the_words_of_the_route() {
        for (wording, words) in [(Wording::Mem0, "/detail"), (Wording::OpenAi, "/error/message")] {
            let mut limits = Limits::new(&LimitsConfig { max_concurrent: 1, ..LimitsConfig::default() });
            limits.body_patience = Duration::from_secs(1);
            let app = limits.apply(Router::new().route("/", post(|text: String| async move { text })), wording);
            let ask = |body: Body| app.clone().oneshot(Request::builder().method("POST").body(body).unwrap());
            // Something comes again and again, and no end of it.
            let drip = stream::unfold((), |()| async {
                tokio::time::sleep(Duration::from_millis(100)).await;
                Some((Ok::<_, std::io::Error>(Bytes::from_static(b"x")), ()))
            });
            let late = ask(Body::from_stream(drip)).await.unwrap();
            assert_eq!(late.status().as_u16(), 408);
            let told = to_bytes(late.into_body(), 1000).await.unwrap();
            let told: serde_json::Value = serde_json::from_slice(&told).unwrap();
            assert!(told.pointer(words).unwrap().as_str().unwrap().contains("within 1 s"), "{told}");
            let taken = ask(Body::from("x")).await.unwrap();
            assert_eq!(taken.status().as_u16(), 200, "its place is free again");
        }
    }

    #[tokio::test]
    async fn a_request_that_is_too_large_is_refused() {
        let app = app(LimitsConfig { max_body_bytes: 8, ..LimitsConfig::default() });
        assert_eq!(ask(&app, "POST", "/", "123456789").await.status().as_u16(), 413);
        let taken = ask(&app, "POST", "/", "12345678").await;
        assert_eq!(to_bytes(taken.into_body(), 100).await.unwrap(), "12345678");
    }
}
