//! The option `--reranker`.

use std::str::FromStr;

use anyhow::Result;
use clap::Args;
use memory_engine::{Builder, http_models::RerankApi};

use crate::remote::{self, Remote};

/// The choice of the reranker.
#[derive(Debug, Clone, Args)]
pub(crate) struct RerankerArgs {
    /// Reranker: none or a service
    ///
    /// It orders the best candidates. A service is siliconflow, jina, cohere, voyage, tei or vllm, optionally with
    /// :MODEL. Its key is read from the
    /// environment or .env, for example from JINA_API_KEY.
    #[arg(long, env = "MEMORY_RERANKER", hide_env_values = true, default_value = "none", value_name = "NAME")]
    pub(crate) reranker: RerankerChoice,
}

/// A reranker by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum RerankerChoice {
    /// None.
    #[default]
    None,
    /// A service.
    Remote(Remote<RerankApi>),
}

impl FromStr for RerankerChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let services = || RerankApi::ALL.map(RerankApi::as_str).join(", ");
        match text {
            "none" => Ok(Self::None),
            _ => Remote::read(text, |name| name.parse().ok())
                .map(Self::Remote)
                .ok_or_else(|| format!("expected none or a service ({}), optionally with :MODEL", services())),
        }
    }
}

impl RerankerChoice {
    /// Sets the reranker of the engine.
    pub(crate) fn configure(&self, builder: Builder) -> Result<Builder> {
        Ok(match self {
            Self::None => builder,
            Self::Remote(service) => builder.reranker(remote::reranker(service)?),
        })
    }
}
