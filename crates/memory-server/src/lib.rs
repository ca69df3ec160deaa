#![doc = include_str!("../README.md")]

mod access;
mod assembly;
mod audit;
mod config;
mod connections;
mod fault;
mod guard;
mod headers;
mod health;
mod hosts;
mod keys;
mod limits;
mod metrics;
mod openapi;
mod part;
mod request;
mod server;
mod sources;
mod zone;

// The protocols. Outside of their folders they are named only here and in `assembly`.
#[cfg(feature = "debug")]
mod debug;
#[cfg(feature = "deletions")]
mod deletions;
#[cfg(feature = "gateway")]
mod gateway;
#[cfg(feature = "hooks")]
mod hooks;
#[cfg(feature = "ui")]
mod inspector;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(feature = "mem0")]
mod mem0;
#[cfg(feature = "oauth")]
mod oauth;
mod records;
#[cfg(feature = "review")]
mod review;
#[cfg(feature = "tools")]
mod tools;

pub use access::{Access, Owner};
pub use audit::Auditing;
pub use config::{
    AuditConfig, BlockPlacement, Config, DeletionsConfig, Dialect, GatewayConfig, HooksConfig, IncludedTurns,
    KeyConfig, LimitsConfig, LogConfig, LogFormat, McpConfig, Mem0Config, OAuthConfig, PartConfig, PriceConfig,
    RetentionConfig, RetentionRuleConfig, TokenVariables, UpstreamConfig,
};
#[cfg(feature = "debug")]
pub use debug::Debugging;
#[cfg(feature = "deletions")]
pub use deletions::Deletions;
pub use fault::Fault;
#[cfg(feature = "gateway")]
pub use gateway::{Gateway, GatewayOptions, Upstream};
pub use guard::Guard;
#[cfg(feature = "hooks")]
pub use hooks::{HookOptions, Hooks};
#[cfg(feature = "ui")]
pub use inspector::Inspector;
pub use keys::{ApiKey, KeyRing};
#[cfg(feature = "mcp")]
pub use mcp::{Mcp, McpOptions};
#[cfg(feature = "mem0")]
pub use mem0::Mem0;
pub use metrics::Metrics;
#[cfg(feature = "oauth")]
pub use oauth::OAuth;
pub use records::Records;
#[cfg(feature = "review")]
pub use review::Reviews;
pub use server::Server;
pub use sources::{LoadedConfig, Setting, Sources};
#[cfg(feature = "tools")]
pub use tools::Tools;
pub use zone::{local_zone, zone};
