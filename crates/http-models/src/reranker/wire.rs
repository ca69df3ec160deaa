//! Requests and responses of rerank services.

use serde::Deserialize;
use serde_json::{Value, json};

use super::options::{RerankApi, RerankOptions};

impl RerankApi {
    /// Returns the body of a request for the scores of all candidates, without their texts.
    pub(super) fn request(self, options: &RerankOptions, query: &str, candidates: &[&str]) -> Value {
        let model = &options.model;
        let count = candidates.len();
        match self {
            Self::SiliconFlow => {
                let mut body = json!({
                    "model": model, "query": query, "documents": candidates, "top_n": count, "return_documents": false
                });
                if let Some(instruction) = &options.instruction {
                    body["instruction"] = instruction.as_str().into();
                }
                body
            }
            Self::Jina => json!({
                "model": model, "query": query, "documents": candidates, "top_n": count, "return_documents": false
            }),
            Self::Cohere | Self::Vllm => {
                json!({"model": model, "query": query, "documents": candidates, "top_n": count})
            }
            Self::Voyage => json!({
                "model": model, "query": query, "documents": candidates, "top_k": count, "return_documents": false,
                "truncation": true
            }),
            Self::Tei => json!({
                "query": query, "texts": candidates, "raw_scores": false, "return_text": false, "truncate": true
            }),
        }
    }
}

/// The rows of a response. Services use each other's formats, so every format is accepted from every service.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum RerankResponse {
    Bare(Vec<RerankRow>),
    Results { results: Vec<RerankRow> },
    Data { data: Vec<RerankRow> },
}

#[derive(Deserialize)]
pub(super) struct RerankRow {
    pub(super) index: usize,
    #[serde(alias = "relevance_score")]
    pub(super) score: f64,
}

impl RerankResponse {
    pub(super) fn rows(self) -> Vec<RerankRow> {
        match self {
            Self::Bare(rows) | Self::Results { results: rows } | Self::Data { data: rows } => rows,
        }
    }
}
