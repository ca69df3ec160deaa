//! Assembles a server from a configuration.
//!
//! Reasons: `docs/design/decisions/0051-protocols-are-parts.md`.

use memory_engine::{MemoryEngine, Result};

use crate::{
    config::{Config, TokenVariables, Variables},
    metrics::Metrics,
    part::ServerPart,
    server::Server,
};

/// The variable that holds a key for the whole default tenant.
const TOKEN_VARIABLE: &str = "MEMORY_TOKEN";
/// The variable that holds a key for the metrics only.
const METRICS_TOKEN_VARIABLE: &str = "MEMORY_METRICS_TOKEN";

/// Builds a part, unless the configuration switches it off.
type BuildPart = fn(&Config, &MemoryEngine, Variables<'_>) -> Result<Option<ServerPart>>;

/// The protocols of this build.
const PARTS: &[BuildPart] = &[
    crate::audit::build,
    crate::records::build,
    #[cfg(feature = "mem0")]
    crate::mem0::build,
    #[cfg(feature = "mcp")]
    crate::mcp::build,
    #[cfg(feature = "hooks")]
    crate::hooks::build,
    #[cfg(feature = "tools")]
    crate::tools::build,
    #[cfg(feature = "review")]
    crate::review::build,
    #[cfg(feature = "debug")]
    crate::debug::build,
    #[cfg(feature = "deletions")]
    crate::deletions::build,
    #[cfg(feature = "gateway")]
    crate::gateway::build,
];

impl Config {
    /// Builds the server of this configuration, with the memories and the clock of this engine. `variable` looks up the
    /// keys of upstreams, `MEMORY_TOKEN`, `MEMORY_METRICS_TOKEN` and `MEMORY_OAUTH_SECRET`. Protocols that this build
    /// lacks are left out.
    ///
    /// # Errors
    /// `InvalidInput` with the name of a setting that is not valid, and the errors of [`guard`](Self::guard);
    /// `Unauthorized` if the variable with the key of an upstream is not set; `Unsupported` for upstreams in a build
    /// without the gateway, and for OAuth in a build without it.
    pub fn server(&self, engine: &MemoryEngine, variable: impl Fn(&str) -> Option<String>) -> Result<Server> {
        self.time_zone()?;
        self.gateway.check_prices()?;
        let (token, metrics_token) = (variable(TOKEN_VARIABLE), variable(METRICS_TOKEN_VARIABLE));
        let variables = TokenVariables { token: token.as_deref(), metrics_token: metrics_token.as_deref() };
        let guard = self.guard(variables)?;
        let mut server = Server::new(engine.clone(), guard).limits(self.limits).allowed_hosts(&self.allowed_hosts);
        server = server.cors_origins(self.cors_origins.iter().map(String::as_str))?;
        let metrics = if self.metrics.enabled { Some(Metrics::install()?) } else { None };
        if let Some(metrics) = metrics.clone() {
            server = server.metrics(metrics);
        }
        if cfg!(not(feature = "gateway")) && !self.gateway.upstreams.is_empty() {
            let message =
                "this build has no chat gateway; compile it with the feature gateway, or remove the upstreams";
            return Err(memory_engine::Error::new(memory_engine::ErrorKind::Unsupported, "config", message));
        }
        // The tools refuse a host that is not allowed, also that of the public address.
        let config = self.with_public_host();
        for build in PARTS {
            if let Some(part) = build(&config, engine, &variable)? {
                server = server.with_part(part);
            }
        }
        #[cfg(feature = "ui")]
        {
            server = crate::inspector::add_if_enabled(&config, server, engine, metrics);
        }
        #[cfg(feature = "oauth")]
        {
            server = crate::oauth::add(self, server, &variable)?;
        }
        #[cfg(not(feature = "oauth"))]
        if self.oauth.enabled {
            let message = "this build has no OAuth; compile it with the feature oauth, or remove oauth.enabled";
            return Err(memory_engine::Error::new(memory_engine::ErrorKind::Unsupported, "config", message));
        }
        Ok(server)
    }

    /// Returns the configuration with the host of the public address among the allowed ones.
    fn with_public_host(&self) -> Self {
        #[cfg_attr(not(feature = "oauth"), allow(unused_mut, reason = "the public address is that of OAuth"))]
        let mut config = self.clone();
        #[cfg(feature = "oauth")]
        config.allowed_hosts.extend(crate::oauth::public_host(self));
        config
    }
}

#[cfg(all(test, feature = "gateway"))]
mod tests;
