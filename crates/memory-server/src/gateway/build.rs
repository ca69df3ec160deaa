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
    config::{Config, GatewayConfig, RuleSet, UpstreamConfig},
    part::ServerPart,
};

/// Builds the gateway if there are upstreams.
pub(crate) fn build(
    config: &Config,
    engine: &MemoryEngine,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<ServerPart>> {
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
    let options = config.gateway.options()?.with_user(&config.user).with_clock(Arc::clone(engine.clock()));
    Ok(options.with_max_bytes(config.limits.max_body_bytes, config.limits.max_reply_bytes))
}

impl GatewayConfig {
    fn options(&self) -> Result<GatewayOptions> {
        let mut block = GatewayBlock::default();
        if let Some(max_chars) = self.max_chars {
            block = block.with_max_chars(max_chars);
        }
        let mut options = GatewayOptions::default().with_block(block).with_limit(self.max_memories);
        options.memory_deadline = Duration::from_millis(self.deadline_ms);
        if let Some(file) = &self.scene_rules {
            options = options.with_scenes(read_rules(file, SceneRules::from_toml)?);
        }
        let mut rules = match &self.injection_rules {
            Some(file) => read_rules(file, InjectionRules::from_toml)?,
            None => InjectionRules::default(),
        };
        if self.rules == RuleSet::Document {
            rules.relevant.enabled = false;
        }
        options = options.with_rules(rules);
        Ok(options)
    }
}

impl UpstreamConfig {
    /// Returns the upstream, with the key from its variable.
    fn upstream(&self, variable: impl Fn(&str) -> Option<String>) -> Result<Upstream> {
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

    #[test]
    fn rules_of_the_document_inject_nothing_else() {
        let is_on =
            |rules| GatewayConfig { rules, ..GatewayConfig::default() }.options().unwrap().rules.relevant.enabled;
        assert!(is_on(RuleSet::Default));
        assert!(!is_on(RuleSet::Document));
    }

    #[test]
    fn the_number_of_memories_can_be_set() {
        let limit = |config: GatewayConfig| config.options().unwrap().limit;
        assert_eq!(limit(GatewayConfig::default()), GatewayOptions::default().limit);
        assert_eq!(limit(GatewayConfig { max_memories: 2, ..GatewayConfig::default() }), 2);
    }
}
