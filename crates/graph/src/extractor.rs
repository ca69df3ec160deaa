//! The contract of an extractor.

use std::fmt::Debug;

use async_trait::async_trait;
use memory_engine_core::{Record, Result};

use crate::extraction::Extraction;

/// Finds out what a record says about entities and relations.
///
/// # Cancel safety
/// Dropping the future gives the answer up. What a model has done by then may have been paid for.
#[async_trait]
pub trait GraphExtractor: Debug + Send + Sync + 'static {
    /// Returns the entities and relations of a record, [normalised](Extraction::settled). Empty if there are none.
    ///
    /// # Errors
    /// The error of a model, and `InvalidInput` for an unreadable reply. The caller continues without a graph: the
    /// record is still found by its words and its vector.
    async fn extract(&self, record: &Record) -> Result<Extraction>;
}

const _: fn(&dyn GraphExtractor) = |_| {};
