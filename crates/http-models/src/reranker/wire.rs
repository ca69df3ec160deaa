//! Requests and answers of rerank services.

use serde::Deserialize;
use serde_json::{Value, json};

use super::options::{RerankApi, RerankOptions};

impl RerankApi {
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

/// The rows of an answer, under whichever name. Services answer in each other's forms, so that all are read always.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum RerankResponse {
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

impl RerankResponse {
    pub(super) fn rows(self) -> Vec<Row> {
        match self {
            Self::Bare(rows) | Self::Results { results: rows } | Self::Data { data: rows } => rows,
        }
    }
}
