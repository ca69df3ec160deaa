//! Builds the gateway from its section of the configuration.

use std::{fs, sync::Arc, time::Duration};

use memory_engine::{
    Error, ErrorKind, MemoryEngine, Result,
    context::{GatewayBlock, InjectionRules},
    http_models::{Endpoint, Secret},
    scene::SceneRules,
};

use super::{options::GatewayOptions, service::Gateway, upstream::Upstream};
use crate::{
    config::{Config, GatewayConfig, UpstreamConfig},
    part::Part,
};

/// Builds the gateway if there are upstreams.
pub(crate) fn build(
    config: &Config,
    engine: &MemoryEngine,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<Part>> {
    if config.gateway.upstreams.is_empty() {
        return Ok(None);
    }
    let upstreams = config.gateway.upstreams.iter().map(|upstream| upstream.open(variable)).collect::<Result<_>>()?;
    let options = config.gateway.options()?.with_user(&config.user).with_clock(Arc::clone(engine.clock()));
    let options = options.with_max_bytes(config.limits.max_body_bytes, config.limits.max_reply_bytes);
    Ok(Some(Gateway::new(engine.clone(), upstreams, options)?.part()))
}

impl GatewayConfig {
    fn options(&self) -> Result<GatewayOptions> {
        let usual = GatewayOptions::default();
        let mut block = GatewayBlock::default();
        if let Some(max_chars) = self.max_chars {
            block = block.with_max_chars(max_chars);
        }
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
