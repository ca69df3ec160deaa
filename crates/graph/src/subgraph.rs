//! The result of a walk.

use memory_engine_core::{RecordId, RuleId, Timestamp};
use serde::Serialize;

use crate::entity::{EntityId, EntityKind};

/// A part of a graph: entities, the nearest first, and the relations between them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Subgraph {
    /// By hops, then by how often they are mentioned, then by name.
    pub entities: Vec<Entity>,
    /// By hops, then by how many records say so, then the latest first, then by the names of their ends.
    pub edges: Vec<Edge>,
}

impl Subgraph {
    /// Returns true if nothing was found.
    pub fn is_empty(&self) -> bool {
        self.entities.is_empty()
    }

    /// The entity with this id.
    pub fn entity(&self, id: EntityId) -> Option<&Entity> {
        self.entities.iter().find(|entity| entity.id == id)
    }

    /// Several of different users as one, no larger than `entities` and `edges`. A relation whose end does not fit in
    /// is left out.
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
    /// Its other names, each once however it is spelled, in their order.
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

/// A relation from one entity to another, as far as the reader can see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Edge {
    /// From.
    pub source: EntityId,
    /// The relation of the source to the target, such as `lives in`. Folded, so that all spellings are one edge.
    pub relation: String,
    /// To.
    pub target: EntityId,
    /// From when on it holds, if that is known.
    pub valid_from: Option<Timestamp>,
    /// Until when it held, if it no longer does.
    pub valid_until: Option<Timestamp>,
    /// Number of records that state it.
    pub records: u64,
    /// The latest of them, latest first.
    pub evidence: Vec<RecordId>,
    /// The rules that made it of those records, in alphabetical order, each once; [`RuleId::MODEL`] for a model. Empty
    /// when a caller stated the relation.
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
