//! Limits how many requests are served at a time: in all, and for each key.

use std::{collections::BTreeMap, pin::Pin, sync::Arc, task::Context, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::StatusCode,
    middleware::{Next, from_fn_with_state},
    response::Response,
};
use http_body::Body as _;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::polled_body::polled_body;
use crate::{
    access::Access,
    fault::{ErrorFormat, Fault},
};

/// The `Retry-After` of a refused request.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Refuses a request if too many are being served: with 429 at the limit of its key, with 503 at the limit of the
/// server.
#[derive(Debug, Clone)]
pub(super) struct Concurrency {
    /// The permits of the server. `None` if there is no limit.
    all: Option<Arc<Semaphore>>,
    /// Maximum number of concurrent requests of one key; 0 for no limit.
    max_per_key: usize,
    /// The permits of each key, by its name.
    keys: Arc<Mutex<BTreeMap<String, Arc<Semaphore>>>>,
}

/// The permits of a request in progress: one of the server and one of its key, as far as they are limited.
struct Permits {
    _all: Option<OwnedSemaphorePermit>,
    _key: Option<OwnedSemaphorePermit>,
}

impl Concurrency {
    /// Creates limits for the server and for each key; 0 for no limit.
    pub(super) fn new(max: usize, max_per_key: usize) -> Self {
        let all = (max > 0).then(|| Arc::new(Semaphore::new(max.min(Semaphore::MAX_PERMITS))));
        Self { all, max_per_key, keys: Arc::default() }
    }

    pub(super) fn apply(&self, router: Router, errors: ErrorFormat) -> Router {
        router.layer(from_fn_with_state((self.clone(), errors), limit_concurrency))
    }

    fn acquire(&self, access: Option<&Access>) -> Result<Permits, Fault> {
        let key = match access.filter(|_| self.max_per_key > 0) {
            Some(access) => Some(self.key_permits(access.name()).try_acquire_owned().map_err(|_| {
                refusal(StatusCode::TOO_MANY_REQUESTS, "too many concurrent requests with this key; retry later")
            })?),
            None => None,
        };
        let all = match &self.all {
            Some(permits) => Some(Arc::clone(permits).try_acquire_owned().map_err(|_| {
                refusal(StatusCode::SERVICE_UNAVAILABLE, "the server has too many concurrent requests; retry later")
            })?),
            None => None,
        };
        Ok(Permits { _all: all, _key: key })
    }

    fn key_permits(&self, key: &str) -> Arc<Semaphore> {
        let mut keys = self.keys.lock();
        let permits = self.max_per_key.min(Semaphore::MAX_PERMITS);
        Arc::clone(keys.entry(key.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(permits))))
    }
}

fn refusal(status: StatusCode, message: &str) -> Fault {
    Fault::new(status, message).with_retry_after(RETRY_AFTER)
}

async fn limit_concurrency(
    State((limit, errors)): State<(Concurrency, ErrorFormat)>,
    request: Request,
    next: Next,
) -> Response {
    let permits = match limit.acquire(request.extensions().get::<Access>()) {
        Ok(permits) => permits,
        Err(fault) => return errors(fault),
    };
    let response = next.run(request).await;
    // The permits are held until the response has been sent or dropped.
    let poll = move |body: Pin<&mut Body>, context: &mut Context<'_>| {
        let _held = &permits;
        body.poll_frame(context)
    };
    response.map(|body| polled_body(body, poll))
}
