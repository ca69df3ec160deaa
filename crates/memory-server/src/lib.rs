#![doc = include_str!("../README.md")]

mod access;
mod config;
mod debug;
mod fault;
mod gateway;
mod guard;
mod health;
mod hosts;
mod keys;
mod limits;
mod mcp;
mod mem0;
mod metrics;
mod openapi;
mod server;
mod zone;

pub use access::{Access, Owner};
pub use config::{
    Config, GatewayConfig, KeyConfig, LimitsConfig, Loaded, LogConfig, LogFormat, McpConfig, Mem0Config, PartConfig,
    Setting, Sources, UpstreamConfig,
};
pub use debug::Debugging;
pub use fault::Fault;
pub use gateway::{Gateway, GatewayOptions, Upstream};
pub use guard::Guard;
pub use keys::{ApiKey, KeyRing};
pub use mcp::{Mcp, McpOptions};
pub use mem0::Mem0;
pub use metrics::Metrics;
pub use server::Server;
pub use zone::zone;
