//! Assembles a server from a configuration.

use memory_engine::{MemoryEngine, Result};

use crate::{config::Config, metrics::Metrics, part::Part, server::Server};

/// The variable that holds a key for the whole default tenant.
const TOKEN: &str = "MEMORY_TOKEN";

/// Looks up a variable: in the environment, or in a file of variables.
type Variables<'v> = &'v dyn Fn(&str) -> Option<String>;
/// Builds a part, unless the configuration switches it off.
type BuildPart = fn(&Config, &MemoryEngine, Variables<'_>) -> Result<Option<Part>>;

/// The protocols of this build.
const PARTS: &[BuildPart] = &[
    #[cfg(feature = "mem0")]
    crate::mem0::build,
    #[cfg(feature = "mcp")]
    crate::mcp::build,
    #[cfg(feature = "debug")]
    crate::debug::build,
    #[cfg(feature = "gateway")]
    crate::gateway::build,
];

impl Config {
    /// Builds the server that this configures, over an open memory and with its clock. `variable` looks up the keys of
    /// upstreams and `MEMORY_TOKEN`. A protocol that this build does not contain is left out.
    ///
    /// # Errors
    /// `InvalidInput` for a setting that is not valid, with its name, and as [`guard`](Self::guard); `Unauthorized`
    /// when the key of an upstream is not in its variable; `Unsupported` for upstreams in a build without the gateway.
    pub fn server(&self, engine: &MemoryEngine, variable: impl Fn(&str) -> Option<String>) -> Result<Server> {
        self.time_zone()?;
        let guard = self.guard(variable(TOKEN).as_deref())?;
        let mut server = Server::new(engine.clone(), guard).limits(self.limits).allowed_hosts(&self.allowed_hosts);
        server = server.cors_origins(self.cors_origins.iter().map(String::as_str))?;
        if self.metrics.enabled {
            server = server.metrics(Metrics::install()?);
        }
        if cfg!(not(feature = "gateway")) && !self.gateway.upstreams.is_empty() {
            let message =
                "this build has no chat gateway: compile it with the feature gateway, or configure no upstreams";
            return Err(memory_engine::Error::new(memory_engine::ErrorKind::Unsupported, "config", message));
        }
        for build in PARTS {
            if let Some(part) = build(self, engine, &variable)? {
                server = server.with_part(part);
            }
        }
        Ok(server)
    }
}

#[cfg(all(test, feature = "gateway"))]
mod tests;
