//! Hostile texts in every field of a record that a page shows.

use memory_engine::MemoryEngine;

/// Stores the hostile records of the user mallory.
pub(crate) async fn store(_engine: &MemoryEngine) {}
