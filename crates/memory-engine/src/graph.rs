//! Entities and relations, with the records that state them.

pub(crate) mod entity_graph;

pub use memory_engine_enrichment::GraphIndexReport;
pub use memory_engine_graph::*;
pub use memory_engine_recall::{Citation, GraphFacts, GraphFactsQuery, KeyEntity, KeyRelation};

pub use self::entity_graph::EntityGraph;
