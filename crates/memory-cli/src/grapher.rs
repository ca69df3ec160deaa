//! What reads turns for entities and relations, by the name that the command line gives it.

use std::{str::FromStr, sync::Arc};

use anyhow::Result;
use clap::Args;
use memory_engine::{ChatExtractor, GraphExtractor, RuleExtractor, http_models::Preset};

use crate::remote::{self, Remote};

/// Who and what turns name, and how these are related.
#[derive(Debug, Clone, Args)]
pub(crate) struct GraphArgs {
    /// What reads turns for entities and relations, so that recalls go by them, too: none, rules, or the chat model of a service
    /// (siliconflow, openai, deepseek, ollama, openrouter, vllm) with :MODEL if need be; its key is in the environment or in
    /// .env, as OPENAI_API_KEY. What a model cannot read waits, and is found by its words meanwhile
    #[arg(long = "graph", env = "MEMORY_GRAPH", default_value = "none", value_name = "NAME")]
    pub(crate) grapher: Grapher,
}

/// A reader by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Grapher {
    /// There is no graph.
    None,
    /// Rules.
    Rules,
    /// The chat model of a service.
    Remote(Remote<Preset>),
}

impl FromStr for Grapher {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self::None),
            "rules" => Ok(Self::Rules),
            _ => Remote::read(text, |name| name.parse().ok()).map(Self::Remote).ok_or_else(|| {
                let services = Preset::ALL.map(Preset::as_str).join(", ");
                format!("it is one of none, rules, or a service ({services}), with :MODEL if need be")
            }),
        }
    }
}

impl GraphArgs {
    /// What reads what is written. A service is not asked for anything yet.
    ///
    /// # Errors
    /// When a key or the model's name is missing.
    pub(crate) fn extractor(&self) -> Result<Option<Arc<dyn GraphExtractor>>> {
        Ok(match &self.grapher {
            Grapher::None => None,
            Grapher::Rules => Some(Arc::new(RuleExtractor::default())),
            Grapher::Remote(service) => Some(Arc::new(ChatExtractor::new(remote::chat(service, "--graph")?))),
        })
    }

    /// What has a recall go by the graph where nothing is read: no service, and no key of it, is needed for that.
    pub(crate) fn reader(&self) -> Option<Arc<dyn GraphExtractor>> {
        match self.grapher {
            Grapher::None => None,
            Grapher::Rules | Grapher::Remote(_) => Some(Arc::new(RuleExtractor::default())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_is_read_by_nobody_by_rules_or_by_a_service_and_asked_without_its_key() {
        let read = |text: &str| text.parse::<Grapher>();
        assert_eq!((read("none"), read("rules")), (Ok(Grapher::None), Ok(Grapher::Rules)));
        let error = read("model").unwrap_err();
        assert!(error.contains("rules") && error.contains("deepseek"), "{error}");
        let remote = GraphArgs { grapher: read("openrouter:some/model").unwrap() };
        assert!(remote.reader().is_some() && GraphArgs { grapher: Grapher::None }.reader().is_none());
    }
}
