//! The jobs, one per file.

#[cfg(feature = "enrichment")]
pub(crate) mod chunks;
pub(crate) mod embeddings;
#[cfg(feature = "enrichment")]
pub(crate) mod facts;
pub(crate) mod graph;
pub(crate) mod keywords;
#[cfg(feature = "enrichment")]
pub(crate) mod metadata;
#[cfg(feature = "enrichment")]
pub(crate) mod profile;
#[cfg(feature = "enrichment")]
pub(crate) mod summaries;

/// Batch size of jobs that compute on the machine.
const COMPUTE_BATCH_SIZE: usize = 256;
/// Batch size of jobs that ask a model: what one request may ask about.
#[cfg(feature = "enrichment")]
const MODEL_BATCH_SIZE: usize = 16;
