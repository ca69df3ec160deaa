//! The contract of graph extractors.

use std::fmt::Debug;

use async_trait::async_trait;
use memory_engine_core::{Record, Result};

use crate::extraction::Extraction;

/// Extracts entities and relations from records.
///
/// # Cancel safety
/// Dropping the future discards the answer. A request that a model has begun may still be billed.
#[async_trait]
pub trait GraphExtractor: Debug + Send + Sync + 'static {
    /// Returns the entities and relations of a record, [normalised](Extraction::normalised). Empty if there are none.
    ///
    /// # Errors
    /// The error of a model, and `InvalidInput` for an unreadable reply. The caller continues without a graph: the
    /// record is still found by its words and its vector.
    async fn extract(&self, record: &Record) -> Result<Extraction>;

    /// Sends the service of the extractor a harmless request. Returns true if it was answered; `None` if there is no
    /// service. Background jobs call this after a failure, to find out whether the record or the service causes it.
    /// Default: `None`.
    async fn test_service(&self) -> Option<bool> {
        None
    }
}

const _: fn(&dyn GraphExtractor) = |_| {};
