//! The contract of a source of evidence.

use std::fmt::Debug;

use async_trait::async_trait;
use memory_engine_core::Result;

use crate::{evidence::Evidence, query::EvidenceRequest};

/// Somewhere to look for evidence.
#[async_trait]
pub trait EvidenceSource: Debug + Send + Sync + 'static {
    /// Evidence whose vector is as near as asked, nearest first.
    ///
    /// # Errors
    /// Whatever keeps the source from answering.
    async fn by_vector(&self, embedding: &[f32], request: &EvidenceRequest) -> Result<Vec<Evidence>>;

    /// Evidence that holds any of the keywords, those with most of them first.
    ///
    /// # Errors
    /// Whatever keeps the source from answering.
    async fn by_keywords(&self, keywords: &[String], request: &EvidenceRequest) -> Result<Vec<Evidence>>;
}

const _: fn(&dyn EvidenceSource) = |_| {};
