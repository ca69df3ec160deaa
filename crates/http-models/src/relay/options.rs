//! Time limits of a relay.

use std::time::Duration;

use crate::client::HttpOptions;

/// Time limits of a [`Relay`](crate::Relay). The total time of a response is not limited.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RelayOptions {
    /// Time limit for connecting. Default: 5 s.
    pub connect_timeout: Duration,
    /// Maximum time without data from the service. Default: 120 s.
    pub idle_timeout: Duration,
    /// True if the proxy of the environment is used. Default: true.
    pub system_proxy: bool,
}

impl Default for RelayOptions {
    fn default() -> Self {
        Self { connect_timeout: Duration::from_secs(5), idle_timeout: Duration::from_secs(120), system_proxy: true }
    }
}

impl RelayOptions {
    /// Sets how long connecting may take.
    #[must_use]
    pub fn with_connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets how long an answer may stop.
    #[must_use]
    pub fn with_idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout = timeout;
        self
    }

    /// Sets whether the proxy of the environment is used.
    #[must_use]
    pub fn with_system_proxy(mut self, proxy: bool) -> Self {
        self.system_proxy = proxy;
        self
    }

    /// The client's options. A relay keeps the time of each wait itself, so that the client's own limit is out of the
    /// way.
    pub(super) fn http(&self) -> HttpOptions {
        HttpOptions::default()
            .with_connect_timeout(self.connect_timeout)
            .with_read_timeout(Duration::from_secs(24 * 60 * 60))
            .with_system_proxy(self.system_proxy)
    }
}
