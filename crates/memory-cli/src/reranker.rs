//! The option `--reranker`.

use std::str::FromStr;

use anyhow::Result;
use memory_engine::{Builder, embed::LocalModel, http_models::RerankApi};

use crate::{
    embedder::EmbedderArgs,
    remote::{self, Remote},
};

/// A reranker by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RerankerChoice {
    /// The local model if it is also the embedder, otherwise none.
    Auto,
    /// None.
    None,
    /// The local model.
    Local,
    /// A service.
    Remote(Remote<RerankApi>),
}

impl FromStr for RerankerChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let services = || RerankApi::ALL.map(RerankApi::as_str).join(", ");
        match text {
            "auto" => Ok(Self::Auto),
            "none" => Ok(Self::None),
            "local" => Ok(Self::Local),
            _ => Remote::read(text, |name| name.parse().ok()).map(Self::Remote).ok_or_else(|| {
                format!("expected auto, none, local or a service ({}), optionally with :MODEL", services())
            }),
        }
    }
}

impl RerankerChoice {
    /// Returns true if a local embedder may also rerank.
    pub(crate) fn may_be_local(&self) -> bool {
        matches!(self, Self::Auto | Self::Local)
    }

    /// Makes the engine use the reranker, unless the embedder has its own.
    pub(crate) async fn equip(&self, builder: Builder, models: &EmbedderArgs) -> Result<Builder> {
        Ok(match self {
            Self::Auto | Self::None => builder,
            Self::Local => {
                builder.reranker(std::sync::Arc::new(LocalModel::open(models.require_model()?).await?.reranker()))
            }
            Self::Remote(service) => builder.reranker(remote::reranker(service)?),
        })
    }
}
