//! One question, six ways to ask it.

use std::str::FromStr;

use memory_engine_core::{Error, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{OPERATION, RerankOptions};

/// Whose API a rerank service speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
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

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::SiliconFlow, Self::Jina, Self::Cohere, Self::Voyage, Self::Tei, Self::Vllm];

    /// The name, as configurations have it.
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

    /// The body of a request. The scores of all candidates are asked for, and none of their texts back.
    pub(super) fn request(self, options: &RerankOptions, question: &str, candidates: &[&str]) -> Value {
        let (model, all) = (&options.model, candidates.len());
        match self {
            Self::SiliconFlow => {
                let mut body = json!({"model": model, "query": question, "documents": candidates, "top_n": all, "return_documents": false});
                if let Some(instruction) = &options.instruction {
                    body["instruction"] = instruction.as_str().into();
                }
                body
            }
            Self::Jina => {
                json!({"model": model, "query": question, "documents": candidates, "top_n": all, "return_documents": false})
            }
            Self::Cohere | Self::Vllm => {
                json!({"model": model, "query": question, "documents": candidates, "top_n": all})
            }
            Self::Voyage => {
                json!({"model": model, "query": question, "documents": candidates, "top_k": all, "return_documents": false, "truncation": true})
            }
            Self::Tei => {
                json!({"query": question, "texts": candidates, "raw_scores": false, "return_text": false, "truncate": true})
            }
        }
    }
}

impl FromStr for Dialect {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let known = || Self::ALL.map(Self::as_str).join(", ");
        let unknown = || Error::invalid(OPERATION, format!("there is no such dialect; it is one of {}", known()));
        Self::ALL.into_iter().find(|dialect| dialect.as_str() == text).ok_or_else(unknown)
    }
}

/// The rows of an answer, under whichever name. Services answer in each other's forms, so that all are read always.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Answer {
    Bare(Vec<Row>),
    Results { results: Vec<Row> },
    Data { data: Vec<Row> },
}

#[derive(Deserialize)]
pub(super) struct Row {
    pub(super) index: usize,
    #[serde(alias = "relevance_score")]
    pub(super) score: f64,
}

impl Answer {
    pub(super) fn rows(self) -> Vec<Row> {
        match self {
            Self::Bare(rows) | Self::Results { results: rows } | Self::Data { data: rows } => rows,
        }
    }
}
