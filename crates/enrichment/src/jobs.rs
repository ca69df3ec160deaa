//! The jobs, one per file.

pub(crate) mod chunks;
pub(crate) mod embeddings;
pub(crate) mod facts;
pub(crate) mod graph;
pub(crate) mod keywords;
pub(crate) mod metadata;
pub(crate) mod profile;
pub(crate) mod summaries;

/// Batch size of jobs that compute on the machine.
const COMPUTE_BATCH: usize = 256;
/// Batch size of jobs that ask a model: what one request may ask about.
const MODEL_BATCH: usize = 16;
