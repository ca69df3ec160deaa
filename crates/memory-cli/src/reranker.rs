//! The option `--reranker`.

use std::str::FromStr;

use anyhow::Result;
use memory_engine::{Builder, http_models::RerankApi};

use crate::remote::{self, Remote};

/// A reranker by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RerankerChoice {
    /// None.
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
