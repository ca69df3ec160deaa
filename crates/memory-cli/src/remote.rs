//! Models behind an HTTP API, by name. Keys come from the environment or from `.env`, and are never shown.

use std::sync::Arc;

use anyhow::{Context, Result};
use memory_engine::{
    embed::Embedder,
    http_models::{
        EmbeddingOptions, Endpoint, HttpChatModel, HttpClient, HttpEmbedder, HttpOptions, HttpReranker, Preset,
        RerankApi, RerankOptions, Secret,
    },
    llm::ChatModel,
    recall::Reranker,
};

use crate::settings::Settings;

/// A model of a service: `SERVICE`, `SERVICE:MODEL` or `SERVICE:MODEL@DIMENSIONS`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Remote<S> {
    pub(crate) service: S,
    pub(crate) model: Option<String>,
    pub(crate) dimensions: Option<usize>,
}

impl<S> Remote<S> {
    /// Parses a model. Returns `None` if the text does not begin with the name of a service.
    pub(crate) fn read(text: &str, parse_service: impl Fn(&str) -> Option<S>) -> Option<Self> {
        let (service, model) = text.split_once(':').map_or((text, None), |(service, model)| (service, Some(model)));
        let service = parse_service(service)?;
        let with_dimensions =
            model.and_then(|model| model.rsplit_once('@')).and_then(|(m, n)| Some((m, n.parse().ok()?)));
        let (model, dimensions) = match with_dimensions {
            Some((model, dimensions)) => (Some(model), Some(dimensions)),
            None => (model, None),
        };
        let model = model.filter(|model| !model.is_empty()).map(str::to_owned);
        Some(Self { service, model, dimensions })
    }
}

/// Returns the names of the services that embed.
pub(crate) fn embedding_services() -> String {
    let names = Preset::ALL.iter().filter(|p| !matches!(p, Preset::DeepSeek)).map(|preset| preset.as_str());
    names.collect::<Vec<_>>().join(", ")
}

/// Connects an embedder. If the number of dimensions is unknown, the service is called once to get it.
///
/// # Errors
/// If a key or the name of a model is missing, or if the service is called and does not answer.
pub(crate) async fn embedder(remote: &Remote<Preset>) -> Result<Arc<dyn Embedder>> {
    let Remote { service, model, dimensions } = remote;
    let settings = Settings::load()?;
    let endpoint = service.endpoint_from(|name| settings.get(name))?;
    let default = service.embedding();
    let mut options = match (model, default) {
        (None, Some(default)) => default,
        (Some(model), Some(default)) if *model == default.model => default,
        (Some(model), _) => EmbeddingOptions::new(model),
        (None, None) => {
            let name = service.as_str();
            anyhow::bail!("{name} has no default embedding model; write --embedder {name}:MODEL")
        }
    };
    if let Some(dimensions) = dimensions {
        options = options.with_dimensions(*dimensions);
    }
    let failed = || {
        let name = service.as_str();
        format!("{name} did not return the dimensions of the model; --embedder {name}:MODEL@DIMENSIONS sets them")
    };
    let embedder = HttpEmbedder::connect(client()?, endpoint, options);
    Ok(Arc::new(embedder.await.with_context(failed)?))
}

/// A reranking service: the variables with its address and key, and its default model.
struct RerankService {
    base: &'static str,
    variables: [&'static str; 2],
    model: Option<&'static str>,
}

/// Returns the service with this API, or `None` if it has a preset.
fn service(api: RerankApi) -> Option<RerankService> {
    let (base, variables, model) = match api {
        RerankApi::Jina => {
            let model = "jina-reranker-v2-base-multilingual";
            ("https://api.jina.ai/v1", ["JINA_BASE_URL", "JINA_API_KEY"], Some(model))
        }
        RerankApi::Cohere => ("https://api.cohere.com/v2", ["COHERE_BASE_URL", "COHERE_API_KEY"], Some("rerank-v3.5")),
        RerankApi::Voyage => ("https://api.voyageai.com/v1", ["VOYAGE_BASE_URL", "VOYAGE_API_KEY"], Some("rerank-2.5")),
        RerankApi::Tei => ("http://localhost:8080", ["TEI_BASE_URL", "TEI_API_KEY"], Some("")),
        RerankApi::Vllm => ("http://localhost:8000/v1", ["VLLM_BASE_URL", "VLLM_API_KEY"], None),
        // A service with a preset uses the preset.
        RerankApi::SiliconFlow | _ => return None,
    };
    Some(RerankService { base, variables, model })
}

/// Returns the reranker. No service is called yet.
///
/// # Errors
/// If a key or the name of a model is missing.
pub(crate) fn reranker(remote: &Remote<RerankApi>) -> Result<Arc<dyn Reranker>> {
    let settings = Settings::load()?;
    let name = remote.service.as_str();
    let (endpoint, default_model) = match service(remote.service) {
        None => {
            let preset: Preset = name.parse()?;
            (preset.endpoint_from(|name| settings.get(name))?, preset.rerank().map(|options| options.model))
        }
        Some(RerankService { base, variables: [address, key], model }) => {
            let endpoint = Endpoint::new(settings.get(address).as_deref().unwrap_or(base)).context(address)?;
            let is_self_hosted = matches!(remote.service, RerankApi::Tei | RerankApi::Vllm);
            let endpoint = match settings.get(key) {
                Some(key) => endpoint.with_key(&Secret::new(key))?,
                None if is_self_hosted => endpoint,
                None => anyhow::bail!("{name} needs a key: set the variable {key}, or write it into .env"),
            };
            (endpoint, model.map(str::to_owned))
        }
    };
    let model = remote.model.clone().or(default_model);
    let model =
        model.with_context(|| format!("{name} has no default reranking model; write --reranker {name}:MODEL"))?;
    Ok(Arc::new(HttpReranker::new(client()?, endpoint, RerankOptions::new(remote.service, model))?))
}

/// Returns the chat model that an option names. No service is called yet.
///
/// # Errors
/// If a key or the name of a model is missing.
pub(crate) fn chat(remote: &Remote<Preset>, option: &str) -> Result<Arc<dyn ChatModel>> {
    let Remote { service, model, dimensions } = remote;
    let settings = Settings::load()?;
    let name = service.as_str();
    anyhow::ensure!(dimensions.is_none(), "a chat model has no dimensions; write {option} {name}:MODEL");
    let endpoint = service.endpoint_from(|name| settings.get(name))?;
    // The other options of a service do not depend on the model.
    let mut options = service.chat().unwrap_or_default();
    options.model = model.clone().unwrap_or(options.model);
    anyhow::ensure!(!options.model.is_empty(), "{name} has no default chat model; write {option} {name}:MODEL");
    Ok(Arc::new(HttpChatModel::new(client()?, endpoint, options)?))
}

fn client() -> Result<HttpClient> {
    Ok(HttpClient::new(HttpOptions::default())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_models_and_dimensions_are_parsed() {
        let read = |text: &str| Remote::read(text, |name| name.parse::<Preset>().ok());
        let of = |model: Option<&str>, dimensions| {
            Some(Remote { service: Preset::Ollama, model: model.map(str::to_owned), dimensions })
        };
        assert_eq!(read("ollama"), of(None, None));
        assert_eq!(read("ollama:bge-m3:567m"), of(Some("bge-m3:567m"), None));
        assert_eq!(read("ollama:org/model@v2@768"), of(Some("org/model@v2"), Some(768)));
        assert_eq!(read("ollama:model@latest"), of(Some("model@latest"), None));
        assert_eq!(read("word2vec"), None);
    }
}
