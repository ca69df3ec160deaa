//! The chat gateway and its upstreams.

use std::collections::BTreeMap;

use memory_engine::{Error, Injector, Result};
use serde::{Deserialize, Serialize};

/// The chat gateway.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct GatewayConfig {
    /// The upstream services. The first one gets every model that no other one lists. Default: none.
    pub upstreams: Vec<UpstreamConfig>,
    /// Time that a chat waits for its memories, in milliseconds. Default: 1500.
    pub deadline_ms: u64,
    /// Maximum number of recalled memories in a prompt. Default: 5.
    pub max_memories: usize,
    /// Maximum number of characters of memories in a prompt. Default: 500 in Chinese, 1500 in English.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_chars: Option<usize>,
    /// The place of the injected memories in a request. Default: `message`.
    pub placement: BlockPlacement,
    /// A TOML file with rules for scenes that replace or extend the built-in ones. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scene_rules: Option<String>,
    /// The built-in injection rules. Default: `default`.
    pub rules: RuleSet,
    /// A TOML file with injection rules that replace or extend the built-in ones. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub injection_rules: Option<String>,
    /// The prices of upstreams, by their names, for the costs that the inspector shows. Default: none; then it shows
    /// tokens only.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub prices: BTreeMap<String, PriceConfig>,
}

/// The price of an upstream, per million tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceConfig {
    /// The price of prompts. There is no default.
    pub prompt: f64,
    /// The price of prompt tokens that the upstream had cached. Default: that of prompts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<f64>,
    /// The price of replies. There is no default.
    pub completion: f64,
    /// The currency. Default: `USD`.
    #[serde(default = "default_currency")]
    pub currency: String,
}

fn default_currency() -> String {
    "USD".to_owned()
}

impl GatewayConfig {
    /// Checks the prices.
    ///
    /// # Errors
    /// `InvalidInput` for the price of an unknown upstream, and for one that is negative or not a number.
    pub(crate) fn check_prices(&self) -> Result<()> {
        for (name, price) in &self.prices {
            if !self.upstreams.iter().any(|upstream| upstream.name == *name) {
                let message = format!("gateway.prices.{name} names no upstream; use a name of gateway.upstreams");
                return Err(Error::invalid("config", message));
            }
            let prices = [Some(price.prompt), price.cached, Some(price.completion)];
            if prices.into_iter().flatten().any(|price| !price.is_finite() || price < 0.0) {
                let message = format!("gateway.prices.{name} must be numbers of at least 0, per million tokens");
                return Err(Error::invalid("config", message));
            }
        }
        Ok(())
    }
}

impl Default for GatewayConfig {
    fn default() -> Self {
        Self {
            upstreams: Vec::new(),
            deadline_ms: 1500,
            max_memories: Injector::DEFAULT_LIMIT,
            max_chars: None,
            placement: BlockPlacement::Message,
            scene_rules: None,
            rules: RuleSet::Default,
            injection_rules: None,
            prices: BTreeMap::new(),
        }
    }
}

/// The API in which a client and an upstream talk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Dialect {
    /// OpenAI's chat completions, `/v1/chat/completions`.
    Chat,
    /// Anthropic's messages, `/v1/messages`.
    Messages,
    /// OpenAI's responses, `/v1/responses`.
    Responses,
}

/// The place of the block of memories in a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BlockPlacement {
    /// The end of the user's message that asks. All bytes before it stay the same from request to request, so that a
    /// prompt cache keeps them.
    #[default]
    Message,
    /// The end of the system prompt, as the document of the chat gateway specifies. A prompt cache loses everything
    /// after it when the block changes.
    System,
}

/// The built-in injection rules of the gateway.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RuleSet {
    /// Injects the memories that are relevant to a message.
    #[default]
    Default,
    /// Injects only at a cold start, for questions about the past and for feelings, as the document of the chat
    /// gateway specifies.
    Document,
}

/// A service behind the gateway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UpstreamConfig {
    /// The name in logs and errors; `NAME/MODEL` selects it for a model. There is no default.
    pub name: String,
    /// The base URL, such as `https://api.openai.com/v1`. There is no default.
    pub base_url: String,
    /// The environment variable with its key. Default: none; then it gets the key that the client sends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
    /// Its models, by name or prefix with `*`. Default: none; then it gets models that no other one lists.
    #[serde(default)]
    pub models: Vec<String>,
    /// The dialects that it speaks: `chat`, `messages`, `responses`. Default: `chat`.
    #[serde(default = "default_dialects")]
    pub dialects: Vec<Dialect>,
}

fn default_dialects() -> Vec<Dialect> {
    vec![Dialect::Chat]
}
