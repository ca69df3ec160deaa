//! Limits how many requests a key sends per minute.

use std::{num::NonZeroU32, sync::Arc};

use axum::{
    Router,
    extract::{Request, State},
    http::StatusCode,
    middleware::{Next, from_fn_with_state},
    response::Response,
};
use governor::{
    DefaultKeyedRateLimiter, Quota, RateLimiter,
    clock::{Clock, DefaultClock},
};

use crate::{
    access::Access,
    fault::{ErrorFormat, Fault},
};

/// Refuses requests above a rate per key, with 429 and the time to wait.
#[derive(Debug, Clone)]
pub(super) struct RateLimit(Option<Arc<DefaultKeyedRateLimiter<String>>>);

impl RateLimit {
    /// Creates a limit of this many requests per key and minute; 0 for no limit.
    pub(super) fn per_minute(requests: u32) -> Self {
        let quota = NonZeroU32::new(requests).map(Quota::per_minute);
        Self(quota.map(|quota| Arc::new(RateLimiter::keyed(quota))))
    }

    pub(super) fn apply(&self, router: Router, errors: ErrorFormat) -> Router {
        match &self.0 {
            Some(limiter) => router.layer(from_fn_with_state((Arc::clone(limiter), errors), check_rate)),
            None => router,
        }
    }
}

type Limiter = Arc<DefaultKeyedRateLimiter<String>>;

async fn check_rate(State((limiter, errors)): State<(Limiter, ErrorFormat)>, request: Request, next: Next) -> Response {
    if let Some(access) = request.extensions().get::<Access>()
        && let Err(until) = limiter.check_key(&access.name().to_owned())
    {
        let wait = until.wait_time_from(DefaultClock::default().now());
        let fault = Fault::new(StatusCode::TOO_MANY_REQUESTS, "too many requests with this key; retry later");
        return errors(fault.with_retry_after(wait));
    }
    next.run(request).await
}
