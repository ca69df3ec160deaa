//! How long to wait, how often to try, how much to take.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};

/// How requests are sent.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HttpOptions {
    /// How long connecting may take. 5 seconds.
    pub connect_timeout: Duration,
    /// How long the service may be silent. 60 seconds.
    pub read_timeout: Duration,
    /// How long one attempt may take from connecting to the last byte; streams are not bound by it. 120 seconds.
    pub timeout: Duration,
    /// How long an unused connection is kept. 90 seconds.
    pub idle_timeout: Duration,
    /// How often a request that failed is sent again. 2.
    pub retries: u32,
    /// How long to wait before the first retry: doubled for each further one, with up to as much again by chance.
    /// Half a second.
    pub first_wait: Duration,
    /// The longest wait; a service that asks for more gets no retry, and its caller hears how long. 20 seconds.
    pub max_wait: Duration,
    /// The largest answer that is taken. 32 MB.
    pub max_response_bytes: usize,
    /// Whether the proxy of the environment is used. Yes.
    pub system_proxy: bool,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(5),
            read_timeout: Duration::from_secs(60),
            timeout: Duration::from_secs(120),
            idle_timeout: Duration::from_secs(90),
            retries: 2,
            first_wait: Duration::from_millis(500),
            max_wait: Duration::from_secs(20),
            max_response_bytes: 32 << 20,
            system_proxy: true,
        }
    }
}

impl HttpOptions {
    /// Sets how long connecting may take.
    #[must_use]
    pub fn with_connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets how long the service may be silent.
    #[must_use]
    pub fn with_read_timeout(mut self, timeout: Duration) -> Self {
        self.read_timeout = timeout;
        self
    }

    /// Sets how long one attempt may take.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets how often a request that failed is sent again.
    #[must_use]
    pub fn with_retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    /// Sets the wait before the first retry, and the longest one.
    #[must_use]
    pub fn with_waits(mut self, first: Duration, longest: Duration) -> Self {
        (self.first_wait, self.max_wait) = (first, longest);
        self
    }

    /// Sets the largest answer that is taken.
    #[must_use]
    pub fn with_max_response_bytes(mut self, bytes: usize) -> Self {
        self.max_response_bytes = bytes;
        self
    }

    /// Sets whether the proxy of the environment is used.
    #[must_use]
    pub fn with_system_proxy(mut self, proxy: bool) -> Self {
        self.system_proxy = proxy;
        self
    }

    /// The waits before the retries.
    pub(crate) fn waits(&self) -> impl Iterator<Item = Duration> + Send + use<> {
        ExponentialBuilder::new()
            .with_jitter()
            .with_min_delay(self.first_wait)
            .with_max_delay(self.max_wait)
            .with_max_times(self.retries as usize)
            .build()
    }
}
