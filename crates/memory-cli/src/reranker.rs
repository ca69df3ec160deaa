//! What judges the best candidates once more, by the name that the command line gives it.

use std::str::FromStr;

use anyhow::Result;
use memory_engine::{Builder, LocalModel, http_models::Dialect};

use crate::{
    embedder::EmbedderArgs,
    remote::{self, Remote},
};

/// A reranker by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Judge {
    /// The local model where it embeds, else none.
    Auto,
    /// None.
    None,
    /// The local model.
    Local,
    /// A service.
    Remote(Remote<Dialect>),
}

impl FromStr for Judge {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let services = || Dialect::ALL.map(Dialect::as_str).join(", ");
        match text {
            "auto" => Ok(Self::Auto),
            "none" => Ok(Self::None),
            "local" => Ok(Self::Local),
            _ => Remote::read(text, |name| name.parse().ok()).map(Self::Remote).ok_or_else(|| {
                format!("it is one of auto, none, local, or a service ({}), with :MODEL if need be", services())
            }),
        }
    }
}

impl Judge {
    /// Has the engine use the reranker, where the embedder did not bring its own.
    pub(crate) async fn equip(&self, builder: Builder, models: &EmbedderArgs) -> Result<Builder> {
        Ok(match self {
            Self::Auto | Self::None => builder,
            Self::Local => builder.reranker(std::sync::Arc::new(LocalModel::open(models.need()?).await?.reranker())),
            Self::Remote(service) => builder.reranker(remote::reranker(service)?),
        })
    }
}
