//! The limits that apply to every guarded route, one middleware for each.

mod body_timeout;
mod checked_body;
mod concurrency;
mod json_values;
mod polled_body;
mod rate;
mod size;
mod surrogates;

use axum::Router;

use crate::{config::LimitsConfig, fault::ErrorFormat};
use body_timeout::BodyTimeout;
use concurrency::Concurrency;
use json_values::limit_json_values;
use rate::RateLimit;
use size::SizeLimit;
use surrogates::replace_surrogates;

/// The content of the requests of a part, which decides their maximum size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyKind {
    /// Memories and queries: at most [`LimitsConfig::max_memory_body_bytes`].
    Memories,
    /// Chats with images, and certificates of many records: at most [`LimitsConfig::max_body_bytes`].
    Large,
}

/// The limits of a server. All routers that they are applied to share the same permits and rates.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    size: SizeLimit,
    memory_size: SizeLimit,
    rate: RateLimit,
    concurrency: Concurrency,
    body_timeout: BodyTimeout,
}

impl Limits {
    pub(crate) fn new(config: &LimitsConfig) -> Self {
        Self {
            size: SizeLimit::new(config.max_body_bytes),
            memory_size: SizeLimit::new(config.max_memory_body_bytes.min(config.max_body_bytes)),
            rate: RateLimit::per_minute(config.requests_per_minute),
            concurrency: Concurrency::new(config.max_concurrent, config.max_concurrent_per_key),
            body_timeout: BodyTimeout::from_seconds(config.body_seconds),
        }
    }

    /// Returns the maximum size of a request, in bytes.
    pub(crate) fn max_body_bytes(&self, bodies: BodyKind) -> usize {
        self.size_of(bodies).max_bytes()
    }

    fn size_of(&self, bodies: BodyKind) -> SizeLimit {
        match bodies {
            BodyKind::Memories => self.memory_size,
            BodyKind::Large => self.size,
        }
    }

    /// Applies the limits to all routes of a router. The guard must run before them: a request without a key must not
    /// use up the rate of any key.
    pub(crate) fn apply(&self, router: Router, errors: ErrorFormat, bodies: BodyKind) -> Router {
        let size = self.size_of(bodies);
        let router = match bodies {
            BodyKind::Memories => replace_surrogates(router),
            // The gateway passes bodies on unchanged.
            BodyKind::Large => router,
        };
        // A request passes the last layer first: size, rate, concurrency, time-out, number of values,
        // halves of surrogate pairs.
        let router = limit_json_values(size.limit_body(router), errors);
        let router = self.body_timeout.apply(router, errors);
        let router = self.concurrency.apply(router, errors);
        size.check_length(self.rate.apply(router, errors), errors)
    }
}

#[cfg(test)]
mod tests;
