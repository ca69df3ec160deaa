//! The names that a first program needs: `use memory_engine::prelude::*;`.

pub use memory_engine_core::{
    Error, ErrorKind, Field, Filter, Kind, Record, RecordId, Result, Role, ScanQuery, Scope, Timestamp,
};
pub use memory_engine_curation::Forget;
#[cfg(feature = "enrichment")]
pub use memory_engine_enrichment::EnrichmentOptions;
pub use memory_engine_indexing::Turn;
pub use memory_engine_recall::{Recall, RecallHit, RecallQuery};

pub use crate::engine::MemoryEngine;
