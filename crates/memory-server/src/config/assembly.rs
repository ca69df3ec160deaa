//! From a configuration to a server.

use std::{fs, sync::Arc, time::Duration};

use memory_engine::{
    Error, ErrorKind, GatewayBlock, InjectionRules, MemoryEngine, Result, SceneRules,
    http_models::{Endpoint, Secret},
};

use super::{Config, GatewayConfig, UpstreamConfig};
use crate::{Debugging, Gateway, GatewayOptions, Mcp, McpOptions, Mem0, Metrics, Owner, Server, Upstream, zone};

/// The variable that holds a key for the whole default tenant.
const TOKEN: &str = "MEMORY_TOKEN";

impl Config {
    /// The server that this configures, over a memory that is open, by that memory's clock. Keys of services, and `MEMORY_TOKEN`, are looked up by
    /// `variable`: in the environment, or in a file that holds nothing else.
    ///
    /// # Errors
    /// `InvalidInput` for what cannot be so, as of [`guard`](Self::guard), with the setting's name; `Unauthorized` when an
    /// upstream's key is not in its variable.
    pub fn server(&self, engine: &MemoryEngine, variable: impl Fn(&str) -> Option<String>) -> Result<Server> {
        let guard = self.guard(variable(TOKEN).as_deref())?;
        let mut server = Server::new(engine.clone(), guard).limits(self.limits).allowed_hosts(&self.allowed_hosts);
        server = server.cors_origins(self.cors_origins.iter().map(String::as_str))?;
        if self.metrics.enabled {
            server = server.metrics(Metrics::install()?);
        }
        if self.mem0.enabled {
            server = server.mem0(Mem0::new(engine.clone()).with_turns(self.mem0.include_turns));
        }
        if self.mcp.enabled {
            let mut options = McpOptions::default().with_max_body_bytes(self.limits.max_body_bytes);
            options.allowed_hosts.extend_from_slice(&self.allowed_hosts);
            options.allowed_origins.extend(self.mcp.allowed_origins.iter().chain(&self.cors_origins).cloned());
            let mcp = Mcp::new(engine.clone()).with_options(options).with_owner(Owner::user(&self.user));
            server = server.mcp(mcp.with_zone(zone(&self.gateway.zone)?));
        }
        if self.debug.enabled {
            server = server.debugging(Debugging::new(engine.clone()));
        }
        if !self.gateway.upstreams.is_empty() {
            let upstreams = self.gateway.upstreams.iter().map(|upstream| upstream.open(&variable));
            let options = self.gateway.options()?.with_user(&self.user).with_clock(Arc::clone(engine.clock()));
            let options = options.with_max_bytes(self.limits.max_body_bytes, self.limits.max_reply_bytes);
            server = server.gateway(Gateway::new(engine.clone(), upstreams.collect::<Result<_>>()?, options)?);
        }
        Ok(server)
    }
}

impl GatewayConfig {
    fn options(&self) -> Result<GatewayOptions> {
        let usual = GatewayOptions::default();
        let block = GatewayBlock::default().with_max_chars(self.max_chars).with_zone(zone(&self.zone)?);
        let mut options = GatewayOptions::default()
            .with_block(block)
            .with_deadlines(Duration::from_millis(self.deadline_ms), usual.keep_deadline);
        if let Some(file) = &self.scene_rules {
            options = options.with_scenes(read(file, SceneRules::from_toml)?);
        }
        if let Some(file) = &self.injection_rules {
            options = options.with_rules(read(file, InjectionRules::from_toml)?);
        }
        Ok(options)
    }
}

impl UpstreamConfig {
    fn open(&self, variable: impl Fn(&str) -> Option<String>) -> Result<Upstream> {
        let mut endpoint = Endpoint::new(&self.base_url)?;
        if let Some(name) = &self.key_env {
            let missing = || {
                let message = format!("the key of the upstream '{}' is not in {name}", self.name);
                Error::new(ErrorKind::Unauthorized, "config", message)
            };
            endpoint = endpoint.with_key(&Secret::new(variable(name).ok_or_else(missing)?))?;
        }
        Ok(Upstream::new(&self.name, endpoint).with_models(&self.models))
    }
}

/// Rules in a file of their own.
fn read<T>(file: &str, rules: impl Fn(&str) -> Result<T>) -> Result<T> {
    let unread = |e| Error::invalid("config", format!("{file} cannot be read")).with_source(e);
    rules(&fs::read_to_string(file).map_err(unread)?)
        .map_err(|e| Error::invalid("config", format!("{file}: {}", e.message())))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    fn upstream(key_env: Option<&str>) -> UpstreamConfig {
        let key_env = key_env.map(str::to_owned);
        UpstreamConfig { name: "near".into(), base_url: "http://127.0.0.1:9/v1".into(), key_env, models: Vec::new() }
    }

    fn with(gateway: GatewayConfig) -> Config {
        // What counts for the whole process can be installed once only.
        Config { gateway, metrics: super::super::PartConfig { enabled: false }, ..Config::default() }
    }

    #[tokio::test]
    async fn a_configuration_becomes_a_server() {
        let engine = MemoryEngine::builder().in_memory().build().await.unwrap();
        let gateway = GatewayConfig { upstreams: vec![upstream(Some("NEAR_KEY"))], ..GatewayConfig::default() };
        let server = with(gateway).server(&engine, |name| (name == "NEAR_KEY").then(|| "sk-hunter2".into()));
        assert!(!format!("{:?}", server.unwrap()).contains("hunter2"));
    }

    #[tokio::test]
    async fn what_cannot_be_so_is_told_with_its_name() {
        let engine = MemoryEngine::builder().in_memory().build().await.unwrap();
        let wrong = [
            (GatewayConfig { upstreams: vec![upstream(Some("NEAR_KEY"))], ..GatewayConfig::default() }, "NEAR_KEY"),
            (
                GatewayConfig { upstreams: vec![upstream(None)], zone: "Mars".into(), ..GatewayConfig::default() },
                "Mars",
            ),
            (
                GatewayConfig {
                    upstreams: vec![upstream(None)],
                    scene_rules: Some("nowhere.toml".into()),
                    ..GatewayConfig::default()
                },
                "nowhere.toml",
            ),
        ];
        for (gateway, named) in wrong {
            let error = with(gateway).server(&engine, |_| None).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}
