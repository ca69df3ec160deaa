//! The contract of a source of evidence: a database or the local memory.

use std::fmt::Debug;

use async_trait::async_trait;
use memory_engine_core::Result;

use crate::{evidence::Evidence, query::EvidenceRequest};

/// A source of evidence.
#[async_trait]
pub trait EvidenceSource: Debug + Send + Sync + 'static {
    /// Returns evidence whose vector has at least the requested similarity, most similar first.
    ///
    /// # Errors
    /// The error of the source, such as `Unavailable`.
    async fn by_vector(&self, embedding: &[f32], request: &EvidenceRequest) -> Result<Vec<Evidence>>;

    /// Returns evidence that contains any of the keywords, by the number of keywords, highest first.
    ///
    /// # Errors
    /// The error of the source, such as `Unavailable`.
    async fn by_keywords(&self, keywords: &[String], request: &EvidenceRequest) -> Result<Vec<Evidence>>;
}

const _: fn(&dyn EvidenceSource) = |_| {};
