//! Known services: their base URLs, environment variables and default models.

use std::{env, str::FromStr};

use memory_engine_core::{Error, ErrorKind, Result};

use crate::{
    chat::options::{ChatOptions, JsonMode},
    embedder::options::EmbeddingOptions,
    endpoint::Endpoint,
    reranker::options::{RerankApi, RerankOptions},
    secret::Secret,
};

/// The query prefix that bge-*-zh-v1.5 was trained with (model card).
const BGE_ZH_QUERY: &str = "为这个句子生成表示以用于检索相关文章：";

/// A known service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Preset {
    /// SiliconFlow: chat, embeddings and reranking.
    SiliconFlow,
    /// OpenAI: chat and embeddings.
    OpenAi,
    /// DeepSeek: chat.
    DeepSeek,
    /// Ollama on this machine: chat and embeddings.
    Ollama,
    /// OpenRouter: chat.
    OpenRouter,
    /// vLLM on this machine, with the model that it serves.
    Vllm,
}

impl Preset {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::SiliconFlow, Self::OpenAi, Self::DeepSeek, Self::Ollama, Self::OpenRouter, Self::Vllm];

    /// Returns the name used in configurations.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SiliconFlow => "siliconflow",
            Self::OpenAi => "openai",
            Self::DeepSeek => "deepseek",
            Self::Ollama => "ollama",
            Self::OpenRouter => "openrouter",
            Self::Vllm => "vllm",
        }
    }

    /// Returns the default address of the service.
    pub const fn base_url(self) -> &'static str {
        match self {
            Self::SiliconFlow => "https://api.siliconflow.cn/v1",
            Self::OpenAi => "https://api.openai.com/v1",
            Self::DeepSeek => "https://api.deepseek.com/v1",
            Self::Ollama => "http://localhost:11434/v1",
            Self::OpenRouter => "https://openrouter.ai/api/v1",
            Self::Vllm => "http://localhost:8000/v1",
        }
    }

    /// Returns the environment variable of the key.
    pub const fn key_variable(self) -> &'static str {
        match self {
            Self::SiliconFlow => "SILICONFLOW_API_KEY",
            Self::OpenAi => "OPENAI_API_KEY",
            Self::DeepSeek => "DEEPSEEK_API_KEY",
            Self::Ollama => "OLLAMA_API_KEY",
            Self::OpenRouter => "OPENROUTER_API_KEY",
            Self::Vllm => "VLLM_API_KEY",
        }
    }

    /// Returns the environment variable of the base URL.
    pub const fn base_url_variable(self) -> &'static str {
        match self {
            Self::SiliconFlow => "SILICONFLOW_BASE_URL",
            Self::OpenAi => "OPENAI_BASE_URL",
            Self::DeepSeek => "DEEPSEEK_BASE_URL",
            Self::Ollama => "OLLAMA_BASE_URL",
            Self::OpenRouter => "OPENROUTER_BASE_URL",
            Self::Vllm => "VLLM_BASE_URL",
        }
    }

    /// Returns the service that an environment variable names, or `None` if the variable is not set.
    pub(crate) fn from_variable(variable: &str) -> Result<Option<Self>> {
        Self::parse_variable(variable, env::var(variable).ok())
    }

    fn parse_variable(variable: &str, value: Option<String>) -> Result<Option<Self>> {
        let value = value.filter(|value| !value.trim().is_empty());
        let with_variable = |e: Error| Error::invalid("preset", format!("{variable}: {}", e.message()));
        value.map(|name| name.trim().parse().map_err(with_variable)).transpose()
    }

    /// Returns true if the service requires a key.
    pub const fn needs_key(self) -> bool {
        !matches!(self, Self::Ollama | Self::Vllm)
    }

    /// Returns the endpoint with the key and base URL of the environment.
    ///
    /// # Errors
    /// `Unauthorized` if the service requires a key and its variable is not set; `InvalidInput` if the key or base URL
    /// is invalid.
    pub fn endpoint(self) -> Result<Endpoint> {
        self.endpoint_from(|variable| env::var(variable).ok())
    }

    /// Like [`endpoint`](Self::endpoint), with variables from another source such as a `.env` file.
    ///
    /// # Errors
    /// The errors of [`endpoint`](Self::endpoint).
    pub fn endpoint_from(self, variable: impl Fn(&str) -> Option<String>) -> Result<Endpoint> {
        let non_empty = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let base = non_empty(self.base_url_variable());
        let endpoint = Endpoint::new(base.as_deref().unwrap_or(self.base_url()))?;
        match non_empty(self.key_variable()) {
            Some(key) => endpoint.with_key(&Secret::new(key)),
            None if self.needs_key() => {
                let message =
                    format!("{} requires a key; set the environment variable {}", self.as_str(), self.key_variable());
                Err(Error::new(ErrorKind::Unauthorized, "endpoint", message))
            }
            None => Ok(endpoint),
        }
    }

    /// Returns the default embedding model, or `None` if the service has no default.
    pub fn embedding(self) -> Option<EmbeddingOptions> {
        match self {
            // The model rejects texts of more than 512 tokens.
            Self::SiliconFlow => Some(
                EmbeddingOptions::new("BAAI/bge-large-zh-v1.5")
                    .with_dimensions(1024)
                    .with_max_batch(32)
                    .with_max_tokens(480)
                    .with_prefixes(BGE_ZH_QUERY, ""),
            ),
            Self::OpenAi => Some(
                EmbeddingOptions::new("text-embedding-3-small")
                    .with_dimensions(1536)
                    .with_max_batch(256)
                    .with_max_tokens(8000),
            ),
            Self::Ollama => Some(EmbeddingOptions::new("bge-m3").with_dimensions(1024)),
            Self::DeepSeek | Self::OpenRouter | Self::Vllm => None,
        }
    }

    /// Returns the default reranking model.
    pub fn rerank(self) -> Option<RerankOptions> {
        match self {
            Self::SiliconFlow => Some(RerankOptions::new(RerankApi::SiliconFlow, "BAAI/bge-reranker-v2-m3")),
            Self::OpenAi | Self::DeepSeek | Self::Ollama | Self::OpenRouter | Self::Vllm => None,
        }
    }

    /// Returns the default chat model.
    pub fn chat(self) -> Option<ChatOptions> {
        match self {
            Self::SiliconFlow => Some(ChatOptions::new("Qwen/Qwen2.5-7B-Instruct").with_json_mode(JsonMode::Object)),
            Self::OpenAi => Some(ChatOptions::new("gpt-4o-mini").with_max_tokens_field("max_completion_tokens")),
            Self::DeepSeek => Some(ChatOptions::new("deepseek-chat").with_json_mode(JsonMode::Object)),
            Self::Ollama => Some(ChatOptions::new("qwen2.5:7b")),
            Self::OpenRouter => Some(ChatOptions::new("openrouter/auto").with_json_mode(JsonMode::Prompt)),
            Self::Vllm => None,
        }
    }
}

impl FromStr for Preset {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let known = || Self::ALL.map(Self::as_str).join(", ");
        let unknown = || Error::invalid("preset", format!("unknown service; use one of {}", known()));
        Self::ALL.into_iter().find(|preset| preset.as_str() == text).ok_or_else(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_has_a_name_and_an_endpoint() {
        for preset in Preset::ALL {
            assert_eq!(preset.as_str().parse::<Preset>().unwrap(), preset);
            let endpoint = preset.endpoint_from(|name| name.ends_with("KEY").then(|| "sk-hunter2".to_owned())).unwrap();
            assert!(!format!("{endpoint:?}").contains("hunter2"));
        }
        assert!("open-ai".parse::<Preset>().unwrap_err().message().contains("openai"));
    }

    #[test]
    fn an_unknown_service_error_names_variable_and_services() {
        assert_eq!(Preset::parse_variable("CHAT_SERVICE", Some(" deepseek ".into())).unwrap(), Some(Preset::DeepSeek));
        for unset in [None, Some(String::new())] {
            assert_eq!(Preset::parse_variable("CHAT_SERVICE", unset).unwrap(), None);
        }
        let error = Preset::parse_variable("CHAT_SERVICE", Some("deep".into())).unwrap_err();
        assert!(error.message().contains("CHAT_SERVICE") && error.message().contains("deepseek"), "{error}");
    }

    #[test]
    fn a_missing_key_error_names_its_variable() {
        let error = Preset::SiliconFlow.endpoint_from(|_| Some("  ".into())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unauthorized);
        assert!(error.message().contains("SILICONFLOW_API_KEY"));
        assert_eq!(Preset::Ollama.endpoint_from(|_| None).unwrap().host(), "localhost:11434");
    }

    #[test]
    fn the_environment_overrides_the_base_url() {
        let vllm = |name: &str| (name == "VLLM_BASE_URL").then(|| "http://gpu.lan:9000/v1".to_owned());
        assert_eq!(Preset::Vllm.endpoint_from(vllm).unwrap().host(), "gpu.lan:9000");
    }
}
