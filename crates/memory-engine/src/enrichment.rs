//! What the background derives from turns: metadata, facts, summaries, profiles, chunks; by rules or by a model.

pub use memory_engine_core::{Language, Locale};
pub use memory_engine_enrichment::EnrichmentOptions;
pub use memory_engine_summarizer::*;
