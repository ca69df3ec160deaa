//! The URL of a hub and its HTTP client.

use memory_engine_core::Result;

use crate::{
    client::{self, HttpOptions},
    endpoint::Endpoint,
    secret::Secret,
};

/// The hub if `HF_ENDPOINT` is not set.
const DEFAULT_URL: &str = "https://huggingface.co";

/// A model hub with the URLs of Hugging Face: `{endpoint}/{repository}/resolve/{revision}/{file}`.
#[derive(Debug, Clone)]
pub struct Hub {
    pub(super) http: client::HttpClients,
    pub(super) endpoint: Endpoint,
    pub(super) options: HttpOptions,
}

impl Hub {
    /// Creates a client for the hub at this URL. `token` gives access to private models.
    ///
    /// The token is sent to the hub only, never to the target of a redirect. `HttpOptions::timeout` and
    /// `HttpOptions::max_response_bytes` are ignored, because models are large.
    ///
    /// # Errors
    /// `InvalidInput` if the URL or the token is invalid; `Unavailable` if TLS cannot be set up.
    pub fn new(base_url: &str, token: Option<&Secret>, options: HttpOptions) -> Result<Self> {
        let endpoint = Endpoint::new(base_url)?;
        let endpoint = token.map_or_else(|| Ok(endpoint.clone()), |token| endpoint.clone().with_key(token))?;
        let http = client::HttpClients::build(&options)?;
        Ok(Self { http, endpoint, options })
    }

    /// Creates a client from the environment: the URL `HF_ENDPOINT` (default: huggingface.co) and the token `HF_TOKEN`.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new).
    pub fn from_env(options: HttpOptions) -> Result<Self> {
        let base = std::env::var("HF_ENDPOINT").ok().filter(|base| !base.trim().is_empty());
        Self::new(base.as_deref().unwrap_or(DEFAULT_URL), Secret::from_env("HF_TOKEN").as_ref(), options)
    }

    /// Returns the host and port of the hub, for messages.
    pub fn host(&self) -> String {
        self.endpoint.host()
    }
}
