//! The graph store of a world, extractions of its records, and the contents of a subgraph as text.

use memory_engine_core::{Record, Scope};
use memory_engine_graph::{
    Edge, EntityKind, Extraction, GraphEntry, GraphQuery, GraphStore, Mention, Relation, Seeds, Subgraph,
};

use crate::World;

/// The store. The runner ignores these scenarios in a world without one.
pub(super) fn store(world: &World) -> &dyn GraphStore {
    world.graph.as_deref().unwrap()
}

pub(super) fn names(found: &Subgraph) -> Vec<&str> {
    found.entities.iter().map(|entity| entity.name.as_str()).collect()
}

/// Returns the relations as sentences, such as "Anna knows Bob".
pub(super) fn facts(found: &Subgraph) -> Vec<String> {
    let name = |id| found.entity(id).unwrap().name.clone();
    let fact = |edge: &Edge| format!("{} {} {}", name(edge.source), edge.relation, name(edge.target));
    found.edges.iter().map(fact).collect()
}

pub(super) fn extraction_of(entities: &[&str], relations: &[(&str, &str, &str)]) -> Extraction {
    Extraction {
        entities: entities.iter().map(|name| Mention::new(*name, EntityKind::Other)).collect(),
        relations: relations.iter().map(|(a, how, b)| Relation::new(*a, *how, *b)).collect(),
    }
}

/// An extraction with two entities and one relation.
pub(super) fn relation(a: &str, how: &str, b: &str) -> Extraction {
    extraction_of(&[a, b], &[(a, how, b)])
}

impl World {
    /// Stores the record and its extraction.
    pub(super) async fn put_with_extraction(&self, record: &Record, extraction: Extraction) {
        self.put(&[record]).await;
        self.put_extraction(record, extraction).await;
    }

    /// Replaces the extraction of a stored record.
    pub(super) async fn put_extraction(&self, record: &Record, extraction: Extraction) {
        let record = self.stored(record).await.unwrap();
        let scope = record.scope.clone();
        let graph = self.graph.as_ref().unwrap();
        graph.upsert(&scope, &[GraphEntry::new(record, extraction)]).await.unwrap();
    }
}

pub(super) async fn all(store: &dyn GraphStore, scope: &Scope) -> Subgraph {
    store.expand(scope, &GraphQuery::new(Seeds::MostMentioned).with_limits(500, 500)).await.unwrap()
}
