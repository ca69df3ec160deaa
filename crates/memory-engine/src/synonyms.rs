//! Synonyms of query terms.

pub use memory_engine_synonyms::*;
