//! The option `--graph`.

use std::sync::Arc;

use anyhow::Result;
use clap::Args;
use memory_engine::graph::{ChatExtractor, GraphExtractor, RuleExtractor};

use crate::{method::ExtractionMethod, remote};

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
    fn recall_uses_the_graph_of_a_service_without_its_key() {
        let remote = GraphArgs { graph: "openrouter:some/model".parse().unwrap() };
        assert!(remote.reader().is_some() && GraphArgs { graph: ExtractionMethod::None }.reader().is_none());
    }
}
