//! Options of MCP over HTTP.

use rmcp::transport::streamable_http_server::StreamableHttpServerConfig;

use crate::hosts::LOOPBACK;

/// Allows every host or origin.
const ANY: &str = "*";

/// Options of MCP over HTTP, in addition to keys. Web pages that are open in a user's browser must not have access.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpOptions {
    /// The allowed values of the `Host` header, with or without a port; `*` for any. Others get 403. Default: the
    /// names of the loopback.
    pub allowed_hosts: Vec<String>,
    /// The origins of web pages that may call, as `https://app.example:443`; `:*` stands for any port, and `*` for any
    /// origin. Others get 403. Requests without `Origin`, which do not come from a browser, are allowed. Default:
    /// pages of the loopback, on any port.
    pub allowed_origins: Vec<String>,
    /// Maximum size of a request, in bytes; a larger one gets 413. Default: 4 MiB.
    pub max_body_bytes: usize,
}

impl Default for McpOptions {
    /// This machine only, and requests up to 4 MiB.
    fn default() -> Self {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Self {
            allowed_hosts: owned(&LOOPBACK),
            allowed_origins: owned(&["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"]),
            max_body_bytes: 4 << 20,
        }
    }
}

impl McpOptions {
    /// Sets the allowed values of the `Host` header.
    #[must_use]
    pub fn with_allowed_hosts<H: Into<String>>(mut self, hosts: impl IntoIterator<Item = H>) -> Self {
        self.allowed_hosts = hosts.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the origins of web pages that may call. An empty list allows none.
    #[must_use]
    pub fn with_allowed_origins<O: Into<String>>(mut self, origins: impl IntoIterator<Item = O>) -> Self {
        self.allowed_origins = origins.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the maximum size of a request, in bytes.
    #[must_use]
    pub fn with_max_body_bytes(mut self, bytes: usize) -> Self {
        self.max_body_bytes = bytes;
        self
    }

    pub(super) fn config(self) -> StreamableHttpServerConfig {
        let allows_any = |names: &[String]| names.iter().any(|name| name == ANY);
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_max_request_body_bytes(self.max_body_bytes);
        let config = match self.allowed_hosts {
            hosts if allows_any(&hosts) => config.disable_allowed_hosts(),
            // The transport takes an empty list for any host.
            hosts if hosts.is_empty() => config.with_allowed_hosts(Self::default().allowed_hosts),
            hosts => config.with_allowed_hosts(hosts),
        };
        match self.allowed_origins {
            origins if allows_any(&origins) => config.disable_allowed_origins(),
            origins => config.with_allowed_origins(origins).enforce_origin_validation(),
        }
    }
}
