//! The options `--digest`, `--profile-every` and `--graph`: extraction from turns by rules, or by the chat model of a
//! service.

use std::{str::FromStr, sync::Arc};

use anyhow::{Result, bail};
use clap::Args;
use memory_engine::{
    EnrichmentOptions,
    graph::{ChatExtractor, GraphExtractor, RuleExtractor},
    http_models::Preset,
    llm::ChatModel,
};

use crate::remote::{self, Remote};

/// The method of an extraction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ExtractionMethod {
    /// Nothing is extracted.
    None,
    /// Rules and dictionaries.
    Rules,
    /// The chat model of a service.
    Remote(Remote<Preset>),
}

impl FromStr for ExtractionMethod {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self::None),
            "rules" => Ok(Self::Rules),
            _ => Remote::read(text, |name| name.parse().ok()).map(Self::Remote).ok_or_else(|| {
                let services = Preset::ALL.map(Preset::as_str).join(", ");
                format!("expected none, rules or a service ({services}), optionally with :MODEL")
            }),
        }
    }
}

/// The enrichment of turns.
#[derive(Debug, Clone, Args)]
pub(crate) struct DigestArgs {
    /// Facts: none, rules or a service
    ///
    /// The extraction of topics, facts and summaries. A service is siliconflow, openai, deepseek, ollama, openrouter or
    /// vllm, optionally with :MODEL: its chat model
    /// extracts them from turns. Its key is read from the environment or .env, for example from OPENAI_API_KEY. If the
    /// model fails, the rules are used.
    #[arg(long = "digest", env = "MEMORY_DIGEST", hide_env_values = true, default_value = "none", value_name = "NAME")]
    pub(crate) digest: ExtractionMethod,
    /// Messages between refreshes of a profile
    ///
    /// Default: no profiles.
    #[arg(long, env = "MEMORY_PROFILE_EVERY", hide_env_values = true, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) profile_every: Option<u32>,
}

impl DigestArgs {
    /// Returns the enrichment options. No service is called yet.
    ///
    /// # Errors
    /// If a key or the name of a model is missing.
    pub(crate) fn options(&self) -> Result<EnrichmentOptions> {
        let options = match &self.digest {
            ExtractionMethod::None => return Ok(EnrichmentOptions::default()),
            ExtractionMethod::Rules => EnrichmentOptions::rules()?,
            ExtractionMethod::Remote(service) => return self.by_model(remote::chat(service, "--digest")?),
        };
        Ok(self.with_profile(options))
    }

    /// Returns the enrichment options for extraction by this model.
    ///
    /// # Errors
    /// If the built-in rules, its fallback, cannot be read.
    pub(crate) fn by_model(&self, model: Arc<dyn ChatModel>) -> Result<EnrichmentOptions> {
        Ok(self.with_profile(EnrichmentOptions::model(model)?))
    }

    fn with_profile(&self, options: EnrichmentOptions) -> EnrichmentOptions {
        match self.profile_every {
            Some(messages) => options.with_profile(messages as usize),
            None => options,
        }
    }

    /// Returns the enrichment options for a command that needs a method.
    ///
    /// # Errors
    /// If no method is given; otherwise as [`options`](Self::options).
    pub(crate) fn required_options(&self) -> Result<EnrichmentOptions> {
        if self.digest == ExtractionMethod::None {
            bail!(
                "no extraction method given; add --digest rules, or --digest SERVICE for the chat model of a service"
            );
        }
        self.options()
    }
}

/// Extraction of entities and relations.
#[derive(Debug, Clone, Args)]
pub(crate) struct GraphArgs {
    /// Graph: none, rules or a service
    ///
    /// The graph has entities and their relations. A service is siliconflow, openai, deepseek, ollama, openrouter or
    /// vllm, optionally with :MODEL: its chat model
    /// extracts them from turns. Its key is read from the environment or .env, for example from OPENAI_API_KEY. If the
    /// model fails, turns stay queued, and are found by keywords and vectors meanwhile. A search uses the stored graph
    /// with any value except none, and calls no service.
    #[arg(long = "graph", env = "MEMORY_GRAPH", hide_env_values = true, default_value = "none", value_name = "NAME")]
    pub(crate) graph: ExtractionMethod,
}

impl GraphArgs {
    /// Returns the extractor. No service is called yet.
    ///
    /// # Errors
    /// If a key or the name of a model is missing.
    pub(crate) fn extractor(&self) -> Result<Option<Arc<dyn GraphExtractor>>> {
        Ok(match &self.graph {
            ExtractionMethod::None => None,
            ExtractionMethod::Rules => Some(Arc::new(RuleExtractor::default())),
            ExtractionMethod::Remote(service) => Some(Arc::new(ChatExtractor::new(remote::chat(service, "--graph")?))),
        })
    }

    /// Returns an extractor for a command that only reads: recalls then use the graph. It needs no service and no key.
    pub(crate) fn reader(&self) -> Option<Arc<dyn GraphExtractor>> {
        match self.graph {
            ExtractionMethod::None => None,
            ExtractionMethod::Rules | ExtractionMethod::Remote(_) => Some(Arc::new(RuleExtractor::default())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_parsed() {
        let read = |text: &str| text.parse::<ExtractionMethod>();
        assert_eq!((read("none"), read("rules")), (Ok(ExtractionMethod::None), Ok(ExtractionMethod::Rules)));
        let Ok(ExtractionMethod::Remote(remote)) = read("ollama:qwen2.5:7b") else { panic!("a service with a model") };
        assert_eq!((remote.service, remote.model.as_deref()), (Preset::Ollama, Some("qwen2.5:7b")));
        let error = read("gpt").unwrap_err();
        assert!(error.contains("rules") && error.contains("deepseek"), "{error}");
    }

    #[test]
    fn recall_uses_the_graph_of_a_service_without_its_key() {
        let remote = GraphArgs { graph: "openrouter:some/model".parse().unwrap() };
        assert!(remote.reader().is_some() && GraphArgs { graph: ExtractionMethod::None }.reader().is_none());
    }
}
