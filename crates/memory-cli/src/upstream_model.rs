//! The chat model of a server's own upstream, for the extraction of facts and summaries: `digest = "upstream"`.

use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use memory_engine::{
    http_models::{ChatOptions, Endpoint, HttpChatModel, HttpClient, HttpOptions, JsonMode, Preset, Secret},
    llm::ChatModel,
};
use memory_engine_server::{Config, Dialect, UpstreamConfig};

use crate::settings::Settings;

/// The value of `digest` that names the upstream. `upstream:MODEL` names a model of it.
const UPSTREAM: &str = "upstream";

/// Returns the model that the setting `digest` names if it is that of an upstream: `upstream`, or `upstream:MODEL`.
///
/// # Errors
/// If no upstream speaks `chat`, has the model, has a key of its own, or has a model that is known by name.
pub(crate) fn upstream_model(config: &Config) -> Result<Option<Arc<dyn ChatModel>>> {
    let Some(rest) = config.digest.strip_prefix(UPSTREAM) else { return Ok(None) };
    let named = match (rest.is_empty(), rest.strip_prefix(':')) {
        (true, _) => None,
        (false, Some(model)) if !model.is_empty() => Some(model),
        (false, _) => return Ok(None),
    };
    let chat: Vec<&UpstreamConfig> =
        config.gateway.upstreams.iter().filter(|upstream| upstream.dialects.contains(&Dialect::Chat)).collect();
    if chat.is_empty() {
        bail!("digest: no upstream speaks chat; add one to gateway.upstreams, or write `rules` or a service");
    }
    let upstream = named.map_or(chat.first(), |model| upstream_of(&chat, model)).with_context(|| {
        let names: Vec<&str> = chat.iter().map(|upstream| upstream.name.as_str()).collect();
        format!("digest: no upstream has the model '{}'; there are: {}", named.unwrap_or_default(), names.join(", "))
    })?;
    Ok(Some(connect(upstream, named).with_context(|| format!("digest: upstream '{}'", upstream.name))?))
}

/// Returns the upstream of a model, in the order of the gateway: by its name, by a prefix with `*`, or the first one
/// that lists no models.
fn upstream_of<'c, 'u>(upstreams: &'u [&'c UpstreamConfig], model: &str) -> Option<&'u &'c UpstreamConfig> {
    let is_prefix = |pattern: &String| pattern.strip_suffix('*').is_some_and(|prefix| model.starts_with(prefix));
    let named = upstreams.iter().find(|upstream| upstream.models.iter().any(|known| known == model));
    let by_prefix = || upstreams.iter().find(|upstream| upstream.models.iter().any(is_prefix));
    named.or_else(by_prefix).or_else(|| upstreams.iter().find(|upstream| upstream.models.is_empty()))
}

/// Connects a model of an upstream. No service is called yet.
fn connect(upstream: &UpstreamConfig, model: Option<&str>) -> Result<Arc<dyn ChatModel>> {
    let preset: Option<Preset> = upstream.name.parse().ok();
    // A service that is not known may refuse a response format.
    let known = preset.and_then(Preset::chat);
    let mut options = known.unwrap_or_else(|| ChatOptions::new("").with_json_mode(JsonMode::Prompt));
    let listed = upstream.models.iter().find(|model| !model.contains('*'));
    if let Some(model) = model.or(listed.map(String::as_str)) {
        options.model = model.to_owned();
    }
    ensure!(!options.model.is_empty(), "it lists no model by its full name; write digest = \"{UPSTREAM}:MODEL\"");
    let mut endpoint = Endpoint::new(&upstream.base_url)?;
    match &upstream.key_env {
        Some(variable) => {
            let key = Settings::load()?.get(variable);
            let key = key.with_context(|| format!("the variable {variable} of its key is not set"))?;
            endpoint = endpoint.with_key(&Secret::new(key))?;
        }
        None if preset.is_some_and(|preset| !preset.needs_key()) => {}
        None => bail!("it gets the key of each client, and has none of its own; set key_env to the variable of a key"),
    }
    Ok(Arc::new(HttpChatModel::new(HttpClient::new(HttpOptions::default())?, endpoint, options)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(digest: &str, upstreams: &str) -> Result<Option<String>, String> {
        let upstreams: toml::Table = toml::from_str(upstreams).unwrap();
        let mut config = Config::default();
        config.digest = digest.into();
        config.gateway.upstreams = upstreams["upstreams"].clone().try_into().unwrap();
        let model = upstream_model(&config).map_err(|error| format!("{error:#}"))?;
        Ok(model.map(|model| model.name().to_owned()))
    }

    const LOCAL: &str =
        "upstreams = [{ name = 'ollama', base_url = 'http://localhost:11434/v1', models = ['llama3', 'qwen*'] }]";

    #[test]
    fn the_setting_names_the_model_of_an_upstream() {
        assert_eq!(outcome("rules", LOCAL), Ok(None));
        assert_eq!(outcome("upstreamer", LOCAL), Ok(None), "refused as an unknown method");
        assert!(outcome("upstream", LOCAL).unwrap().unwrap().contains("llama3"));
        assert!(outcome("upstream:qwen3:8b", LOCAL).unwrap().unwrap().contains("qwen3:8b"));
        let unknown = outcome("upstream:phi4", LOCAL).unwrap_err();
        assert!(unknown.contains("phi4") && unknown.contains("ollama"), "{unknown}");
    }

    #[test]
    fn an_upstream_that_cannot_be_used_is_refused_with_a_reason() {
        for (upstreams, reason) in [
            ("upstreams = []", "gateway.upstreams"),
            ("upstreams = [{ name = 'a', base_url = 'https://a.test/v1', dialects = ['messages'] }]", "speaks chat"),
            ("upstreams = [{ name = 'a', base_url = 'https://a.test/v1', models = ['m'] }]", "key_env"),
            ("upstreams = [{ name = 'a', base_url = 'https://a.test/v1', key_env = 'K', models = ['m*'] }]", "MODEL"),
            (
                "upstreams = [{ name = 'a', base_url = 'https://a.test/v1', key_env = 'NO_SUCH_KEY', models = ['m'] }]",
                "NO_SUCH_KEY",
            ),
        ] {
            let error = outcome("upstream", upstreams).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
    }
}
