//! The address of a hub and its HTTP client.

use memory_engine_core::Result;

use crate::{
    client::{self, HttpOptions},
    endpoint::Endpoint,
    secret::Secret,
};

/// The hub that is asked unless `HF_ENDPOINT` names another.
const DEFAULT: &str = "https://huggingface.co";

/// A hub of models with Hugging Face's addresses: `{endpoint}/{repository}/resolve/{revision}/{file}`.
#[derive(Debug, Clone)]
pub struct Hub {
    pub(super) http: reqwest::Client,
    pub(super) endpoint: Endpoint,
    pub(super) options: HttpOptions,
}

impl Hub {
    /// The hub at this address; with a token for what is not open to everybody.
    ///
    /// The token goes to the hub alone, never to where it redirects. Of the options, the limit for an attempt as a
    /// whole and that for the size of an answer are not used: models are large.
    ///
    /// # Errors
    /// `InvalidInput` when the address or the token cannot be one; `Unavailable` when TLS cannot be set up.
    pub fn new(base_url: &str, token: Option<&Secret>, options: HttpOptions) -> Result<Self> {
        let endpoint = Endpoint::new(base_url)?;
        let endpoint = token.map_or_else(|| Ok(endpoint.clone()), |token| endpoint.clone().with_key(token))?;
        let http = client::build(&options)?;
        Ok(Self { http, endpoint, options })
    }

    /// The hub of the environment: `HF_ENDPOINT`, or else huggingface.co; `HF_TOKEN` where it is set.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn from_env(options: HttpOptions) -> Result<Self> {
        let base = std::env::var("HF_ENDPOINT").ok().filter(|base| !base.trim().is_empty());
        Self::new(base.as_deref().unwrap_or(DEFAULT), Secret::from_env("HF_TOKEN").as_ref(), options)
    }

    /// The hub's host, for messages.
    pub fn host(&self) -> String {
        self.endpoint.host()
    }
}
