//! Entities and relations, with the records that state them.

pub use memory_engine_enrichment::GraphIndexReport;
pub use memory_engine_graph::*;
pub use memory_engine_recall::{Citation, GraphFacts, GraphFactsQuery, KeyEntity, KeyRelation};

pub use crate::entity_graph::EntityGraph;
