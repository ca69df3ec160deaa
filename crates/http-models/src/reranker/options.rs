//! Rerank APIs and the options of a model.

use std::str::FromStr;

use memory_engine_core::{Error, Result};

pub(super) const OPERATION: &str = "rerank";

/// The API of a rerank service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RerankApi {
    /// SiliconFlow: base URL up to `/v1`.
    SiliconFlow,
    /// Jina: base URL up to `/v1`.
    Jina,
    /// Cohere, second version: base URL up to `/v2`.
    Cohere,
    /// Voyage: base URL up to `/v1`.
    Voyage,
    /// Hugging Face's text-embeddings-inference: base URL without a path.
    Tei,
    /// vLLM: base URL up to `/v1`.
    Vllm,
}

impl RerankApi {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::SiliconFlow, Self::Jina, Self::Cohere, Self::Voyage, Self::Tei, Self::Vllm];

    /// Returns the name used in configurations.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SiliconFlow => "siliconflow",
            Self::Jina => "jina",
            Self::Cohere => "cohere",
            Self::Voyage => "voyage",
            Self::Tei => "tei",
            Self::Vllm => "vllm",
        }
    }
}

impl FromStr for RerankApi {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let known = || Self::ALL.map(Self::as_str).join(", ");
        let unknown = || Error::invalid(OPERATION, format!("unknown rerank API; use one of {}", known()));
        Self::ALL.into_iter().find(|api| api.as_str() == text).ok_or_else(unknown)
    }
}

/// A reranking model and the form of its requests.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RerankOptions {
    /// The API of the service. There is no default.
    pub api: RerankApi,
    /// Name of the model in the service. There is no default; TEI serves one model and needs none.
    pub model: String,
    /// Maximum number of candidates in one request. Default: 32 for TEI, otherwise 1000.
    pub max_batch: usize,
    /// The search task, for models that take an instruction (Qwen3 on SiliconFlow). Default: `None`.
    pub instruction: Option<String>,
}

impl RerankOptions {
    /// Options for the model with this name, otherwise with default values.
    pub fn new(api: RerankApi, model: impl Into<String>) -> Self {
        let max_batch = if api == RerankApi::Tei { 32 } else { 1000 };
        Self { api, model: model.into(), max_batch, instruction: None }
    }

    memory_engine_core::setters! {
        #![must_use]
        /// Sets the maximum number of candidates in one request.
        with_max_batch(candidates: usize) => max_batch = candidates;
        /// Sets the search task.
        with_instruction(instruction: impl Into<String>) => instruction = Some(instruction.into());
    }
}
