//! The result of a walk.

use memory_engine_core::{RecordId, RuleId, Timestamp};
use serde::Serialize;

use crate::entity::{EntityId, EntityKind};

/// A part of a graph: entities, the nearest first, and the relations between them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Subgraph {
    /// Ordered by hops, then by number of mentions (most first), then by name.
    pub entities: Vec<Entity>,
    /// Ordered by hops, then by number of records (most first), then by the latest record (latest first), then by the
    /// positions of their ends in `entities`.
    pub edges: Vec<Edge>,
}

impl Subgraph {
    /// Returns true if there are no entities.
    pub fn is_empty(&self) -> bool {
        self.entities.is_empty()
    }

    /// Returns the entity with this id.
    pub fn entity(&self, id: EntityId) -> Option<&Entity> {
        self.entities.iter().find(|entity| entity.id == id)
    }

    /// Merges subgraphs of different users, with at most this many entities and edges. A relation whose end is left out
    /// is left out, too.
    #[must_use]
    pub fn merged(parts: impl IntoIterator<Item = Self>, entities: usize, edges: usize) -> Self {
        let mut all = Self::default();
        for part in parts {
            all.entities.extend(part.entities);
            all.edges.extend(part.edges);
        }
        all.entities.sort_by(Entity::nearest_first);
        all.entities.truncate(entities);
        let all_edges = std::mem::take(&mut all.edges);
        all.edges = all_edges
            .into_iter()
            .filter(|edge| all.entity(edge.source).is_some() && all.entity(edge.target).is_some())
            .collect();
        all.edges.sort_by(|a, b| a.hops.cmp(&b.hops).then(b.records.cmp(&a.records)));
        all.edges.truncate(edges);
        all
    }
}

/// An entity that visible records mention.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entity {
    /// The id: that of its name.
    pub id: EntityId,
    /// The name, in its most frequent spelling.
    pub name: String,
    /// The kind that most records state, unknown ones not counted.
    pub kind: EntityKind,
    /// Its other names, each once after folding, in alphabetical order.
    pub aliases: Vec<String>,
    /// Number of records that mention it, under any of its names.
    pub mentions: u64,
    /// The latest records that mention it, latest first.
    pub evidence: Vec<RecordId>,
    /// Number of relations between it and the nearest starting entity.
    pub hops: u32,
}

impl Entity {
    pub(crate) fn nearest_first(a: &Self, b: &Self) -> std::cmp::Ordering {
        a.hops.cmp(&b.hops).then(b.mentions.cmp(&a.mentions)).then_with(|| a.name.cmp(&b.name)).then(a.id.cmp(&b.id))
    }
}

/// A relation from one entity to another, with the visible records that state it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Edge {
    /// The entity at its start.
    pub source: EntityId,
    /// The relation of the source to the target, such as `lives in`. Folded, so that all spellings are one edge.
    pub relation: String,
    /// The entity at its end.
    pub target: EntityId,
    /// The time from which it holds, if known.
    pub valid_from: Option<Timestamp>,
    /// The time until which it holds, if known.
    pub valid_until: Option<Timestamp>,
    /// Number of records that state it.
    pub records: u64,
    /// The latest of these records, latest first.
    pub evidence: Vec<RecordId>,
    /// The rules that made it, in alphabetical order, each once; [`RuleId::MODEL`] for a model. Empty if a caller
    /// stated the relation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleId>,
    /// Number of relations between its nearer end and the nearest starting entity.
    pub hops: u32,
}

impl Edge {
    /// Returns true if it is valid at a point in time: from `valid_from` until before `valid_until`.
    pub fn holds_at(&self, time: Timestamp) -> bool {
        self.valid_from.is_none_or(|from| from <= time) && self.valid_until.is_none_or(|until| time < until)
    }
}
