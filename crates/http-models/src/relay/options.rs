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
    memory_engine_core::setters! {
        #![must_use]
        /// Sets the time limit for connecting.
        with_connect_timeout(timeout: Duration) => connect_timeout = timeout;
        /// Sets the maximum time without data.
        with_idle_timeout(timeout: Duration) => idle_timeout = timeout;
        /// Sets whether the proxy of the environment is used.
        with_system_proxy(proxy: bool) => system_proxy = proxy;
    }

    /// Returns the options of the HTTP client. The relay enforces its own time limits, so the read timeout of the
    /// client is set to a day.
    pub(super) fn http(&self) -> HttpOptions {
        HttpOptions::default()
            .with_connect_timeout(self.connect_timeout)
            .with_read_timeout(Duration::from_secs(24 * 60 * 60))
            .with_system_proxy(self.system_proxy)
    }
}
