//! Options of the HTTP client: time limits, retries and maximum sizes.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};

/// Options of an [`HttpClient`](crate::HttpClient).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HttpOptions {
    /// Time limit for connecting. Default: 5 s.
    pub connect_timeout: Duration,
    /// Maximum time without data from the service. Default: 60 s.
    pub read_timeout: Duration,
    /// Time limit of one attempt, from connecting to the last byte. Does not apply to streams. Default: 120 s.
    pub timeout: Duration,
    /// Time after which an unused connection is closed. Default: 90 s.
    pub idle_timeout: Duration,
    /// Maximum number of retries of a failed request. Default: 2.
    pub retries: u32,
    /// Delay before the first retry. It doubles with each further one, and a random time of up to the same length is
    /// added. Default: 0.5 s.
    pub first_wait: Duration,
    /// Maximum delay before a retry. If a service asks for more, there is no retry, and the error names the delay.
    /// Default: 20 s.
    pub max_wait: Duration,
    /// Maximum size of a response, in bytes. Default: 32 MiB.
    pub max_response_bytes: usize,
    /// True if the proxy of the environment is used, except for addresses of this machine. Default: true.
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
    memory_engine_core::setters! {
        #![must_use]
        /// Sets the time limit for connecting.
        with_connect_timeout(timeout: Duration) => connect_timeout = timeout;
        /// Sets the maximum time without data.
        with_read_timeout(timeout: Duration) => read_timeout = timeout;
        /// Sets the time limit of one attempt.
        with_timeout(timeout: Duration);
        /// Sets the maximum number of retries.
        with_retries(retries: u32);
        /// Sets the maximum size of a response, in bytes.
        with_max_response_bytes(bytes: usize) => max_response_bytes = bytes;
        /// Sets whether the proxy of the environment is used.
        with_system_proxy(proxy: bool) => system_proxy = proxy;
    }

    /// Sets the delay before the first retry and the maximum delay.
    #[must_use]
    pub fn with_waits(mut self, first: Duration, max: Duration) -> Self {
        self.first_wait = first;
        self.max_wait = max;
        self
    }

    /// Returns the delays before the retries.
    pub(crate) fn retry_delays(&self) -> impl Iterator<Item = Duration> + Send + use<> {
        ExponentialBuilder::new()
            .with_jitter()
            .with_min_delay(self.first_wait)
            .with_max_delay(self.max_wait)
            .with_max_times(self.retries as usize)
            .build()
    }
}
