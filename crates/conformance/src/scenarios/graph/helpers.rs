//! The graph store of a world, and the contents of a subgraph as text.

use memory_engine_graph::{Edge, GraphStore, Subgraph};

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
