//! The contract of whoever reads a record.

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
    /// What the record says, [settled](Extraction::settled); empty when it says nothing.
    ///
    /// # Errors
    /// Whatever a model reports, and `InvalidInput` for an answer of a model that cannot be read. A caller goes on without:
    /// the record is still found by its words and its vector.
    async fn extract(&self, record: &Record) -> Result<Extraction>;
}

const _: fn(&dyn GraphExtractor) = |_| {};
