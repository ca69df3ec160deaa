//! The option `--graph`.

use std::sync::Arc;

use anyhow::Result;
use clap::Args;
use memory_engine::graph::{ChatExtractor, GraphExtractor, RuleExtractor};

use crate::{method::Method, remote};

/// Who and what turns name, and how these are related.
#[derive(Debug, Clone, Args)]
pub(crate) struct GraphArgs {
    /// What reads turns for entities and relations, so that recalls go by them, too: none, rules, or the chat model of a service
    /// (siliconflow, openai, deepseek, ollama, openrouter, vllm) with :MODEL if need be; its key is in the environment or in
    /// .env, as OPENAI_API_KEY. What a model cannot read waits, and is found by its words meanwhile
    #[arg(long = "graph", env = "MEMORY_GRAPH", default_value = "none", value_name = "NAME")]
    pub(crate) graph: Method,
}

impl GraphArgs {
    /// What reads what is written. A service is not asked for anything yet.
    ///
    /// # Errors
    /// When a key or the model's name is missing.
    pub(crate) fn extractor(&self) -> Result<Option<Arc<dyn GraphExtractor>>> {
        Ok(match &self.graph {
            Method::None => None,
            Method::Rules => Some(Arc::new(RuleExtractor::default())),
            Method::Remote(service) => Some(Arc::new(ChatExtractor::new(remote::chat(service, "--graph")?))),
        })
    }

    /// What has a recall go by the graph where nothing is read: no service, and no key of it, is needed for that.
    pub(crate) fn reader(&self) -> Option<Arc<dyn GraphExtractor>> {
        match self.graph {
            Method::None => None,
            Method::Rules | Method::Remote(_) => Some(Arc::new(RuleExtractor::default())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recall_uses_the_graph_of_a_service_without_its_key() {
        let remote = GraphArgs { graph: "openrouter:some/model".parse().unwrap() };
        assert!(remote.reader().is_some() && GraphArgs { graph: Method::None }.reader().is_none());
    }
}
