//! Limits of requests and connections.

use serde::{Deserialize, Serialize};

/// Limits of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct LimitsConfig {
    /// Maximum size of a request to the gateway or about deletions, in bytes. Default: 32 MiB, enough for images.
    pub max_body_bytes: usize,
    /// Maximum size of every other request, in bytes, but not above `max_body_bytes`. Default: 4 MiB.
    pub max_memory_body_bytes: usize,
    /// Time limit for receiving the body of a request, in seconds; 0 for none. A slower request gets 408. Default:
    /// 30.
    pub body_seconds: u64,
    /// Time limit for receiving the head of a request, in seconds, from the opening of the connection or the end of the
    /// response before it; 0 for none. It also closes connections that are idle. Default: 75.
    pub head_seconds: u64,
    /// Maximum number of open connections of one address; further ones get 503. 0 for no limit. Behind a reverse proxy,
    /// all connections have the address of the proxy. Default: 512.
    pub max_connections_per_address: usize,
    /// Maximum size of an upstream's response that is not streamed, in bytes. In a stream, the maximum size of one
    /// event and of the stored text. Default: 64 MiB.
    pub max_reply_bytes: usize,
    /// Maximum number of concurrent requests; further ones get 503. 0 for no limit. Default: 1024.
    pub max_concurrent: usize,
    /// Maximum number of concurrent requests of one key, so that others are served too; further ones get 429. 0 for
    /// no limit. Default: 512.
    pub max_concurrent_per_key: usize,
    /// Maximum number of requests of one key per minute; 0 for no limit. Default: 0.
    pub requests_per_minute: u32,
    /// Time that a shutdown waits for running requests, in seconds. Default: 25.
    pub shutdown_seconds: u64,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self {
            max_body_bytes: 32 << 20,
            max_memory_body_bytes: 4 << 20,
            body_seconds: 30,
            head_seconds: 75,
            max_connections_per_address: 512,
            max_reply_bytes: 64 << 20,
            max_concurrent: 1024,
            max_concurrent_per_key: 512,
            requests_per_minute: 0,
            shutdown_seconds: 25,
        }
    }
}
