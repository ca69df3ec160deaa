//! Builds the gateway from its section of the configuration.

use std::{fs, sync::Arc};

use memory_engine::{
    Error, ErrorKind, MemoryEngine, Result,
    context::InjectionRules,
    http_models::{Endpoint, Secret},
    scene::SceneRules,
};

use super::{options::GatewayOptions, service::Gateway, upstream::Upstream};
use crate::{
    config::{Config, RuleSet, UpstreamConfig, Variables},
    part::ServerPart,
};

/// Builds the gateway if there are upstreams.
pub(crate) fn build(config: &Config, engine: &MemoryEngine, variable: Variables<'_>) -> Result<Option<ServerPart>> {
    if config.gateway.upstreams.is_empty() {
        return Ok(None);
    }
    let upstreams =
        config.gateway.upstreams.iter().map(|upstream| upstream.upstream(variable)).collect::<Result<_>>()?;
    let options = configured_options(config, engine)?;
    Ok(Some(Gateway::new(engine.clone(), upstreams, options)?.part()))
}

/// Returns the options of the gateway of a configuration, also if it has no upstreams.
///
/// # Errors
/// `InvalidInput` for a file of rules that is not valid.
pub(super) fn configured_options(config: &Config, engine: &MemoryEngine) -> Result<GatewayOptions> {
    let mut options = GatewayOptions { clock: Arc::clone(engine.settings().clock()), ..GatewayOptions::from(config) };
    if let Some(file) = &config.gateway.scene_rules {
        options.scenes = read_rules(file, SceneRules::from_toml)?;
    }
    if let Some(file) = &config.gateway.injection_rules {
        options.rules = read_rules(file, InjectionRules::from_toml)?;
    }
    if config.gateway.rules == RuleSet::Document {
        options.rules = options.rules.as_in_document();
    }
    Ok(options)
}

impl UpstreamConfig {
    /// Returns the upstream, with the key from its variable.
    fn upstream(&self, variable: Variables<'_>) -> Result<Upstream> {
        let mut endpoint = Endpoint::new(&self.base_url)?;
        let mut messages_endpoint = None;
        if let Some(name) = &self.key_env {
            let Some(key) = variable(name) else {
                let message =
                    format!("the variable {name} is not set; it must contain the key of the upstream '{}'", self.name);
                return Err(Error::new(ErrorKind::Unauthorized, "config", message));
            };
            let key = Secret::new(key);
            messages_endpoint = Some(endpoint.clone().with_header("x-api-key", &key)?);
            endpoint = endpoint.with_key(&key)?;
        }
        let upstream = Upstream::new(&self.name, endpoint).with_models(&self.models);
        let upstream = upstream.with_dialects(self.dialects.iter().copied());
        Ok(match messages_endpoint {
            Some(endpoint) => upstream.with_messages_endpoint(endpoint),
            None => upstream,
        })
    }
}

/// Reads a file of rules. Errors name the file.
fn read_rules<T>(file: &str, parse: impl Fn(&str) -> Result<T>) -> Result<T> {
    let text = fs::read_to_string(file)
        .map_err(|e| Error::invalid("config", format!("{file} cannot be read")).with_source(e))?;
    parse(&text).map_err(|e| Error::invalid("config", format!("{file}: {}", e.message())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::BlockPlacement;

    #[tokio::test]
    async fn options_are_those_of_the_configuration() {
        let engine = MemoryEngine::builder().in_memory().build().await.unwrap();
        let options = |text: &str| configured_options(&toml::from_str(text).unwrap(), &engine).unwrap();
        let (usual, changed) = (options(""), options("gateway = { max_memories = 2, rules = \"document\" }"));
        assert_eq!((usual.max_memories, usual.rules.relevant.enabled), (5, true));
        assert_eq!((changed.max_memories, changed.rules.relevant.enabled), (2, false));
        assert_eq!(usual.placement, BlockPlacement::Message);
        assert_eq!(options("gateway = { placement = \"system\" }").placement, BlockPlacement::System);
    }
}
