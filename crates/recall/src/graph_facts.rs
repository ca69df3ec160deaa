//! Entities and relations, each with the record that states it.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{Filter, Record, RecordId, Result, RuleId, State, Timestamp};
use memory_engine_graph::{EntityKind, GraphQuery, Seeds, names_in};
use memory_engine_indexing::IndexedStore;
use serde::Serialize;

use crate::read_scope::ReadScope;

/// A query for entities and relations.
#[derive(Debug, Clone)]
#[must_use]
#[non_exhaustive]
pub struct GraphFactsQuery {
    /// Texts that name the entities to begin with, such as the query and the last turns. Default: the entities that
    /// most records mention.
    pub texts: Option<Vec<String>>,
    /// Maximum number of relations between an entity and one of those to begin with. Default: 1.
    pub hops: u32,
    /// Maximum number of entities. Default: 10.
    pub entities: usize,
    /// Maximum number of relations. Default: 12.
    pub relations: usize,
    /// Only what matching records state. Default: all.
    pub filter: Option<Filter>,
    /// Only relations that hold at this time. Default: any time.
    pub at: Option<Timestamp>,
}

impl GraphFactsQuery {
    /// Begins with the entities that these texts name.
    pub fn about<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        Self { texts: Some(texts.into_iter().map(Into::into).collect()), ..Self::most_mentioned() }
    }

    /// Begins with the entities that most records mention.
    pub fn most_mentioned() -> Self {
        Self { texts: None, hops: 1, entities: 10, relations: 12, filter: None, at: None }
    }

    /// Sets the maximum numbers of entities and relations.
    pub fn with_limits(mut self, entities: usize, relations: usize) -> Self {
        self.entities = entities;
        self.relations = relations;
        self
    }

    memory_engine_core::setters! {
        /// Sets the maximum number of hops.
        with_hops(hops: u32);
        /// Restricts to what matching records state.
        with_filter(filter: Option<Filter>);
        /// Restricts to relations that hold at this time.
        at(time: Timestamp) => at = Some(time);
    }
}

/// Entities and relations, the nearest first, each with its citation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct GraphFacts {
    /// The entities.
    pub entities: Vec<KeyEntity>,
    /// The relations.
    pub relations: Vec<KeyRelation>,
}

/// An entity with the latest record that names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct KeyEntity {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: EntityKind,
    /// Its other names.
    pub aliases: Vec<String>,
    /// The latest record that states it.
    pub citation: Citation,
}

/// A relation with the latest record that says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct KeyRelation {
    /// The name of the entity that it leads from.
    pub source: String,
    /// The name of the relation.
    pub relation: String,
    /// The name of the entity that it leads to.
    pub target: String,
    /// The time since which it holds, if known.
    pub valid_from: Option<Timestamp>,
    /// The time until which it held, if it no longer does.
    pub valid_until: Option<Timestamp>,
    /// The rules that made it of its records, each once; `model` for a language model. Empty when a caller stated it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleId>,
    /// The latest record that states it.
    pub citation: Citation,
}

/// The record, and the message, that states something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Citation {
    /// The record.
    pub record: RecordId,
    /// The id of the message in the application.
    pub message_id: Option<String>,
    /// The message's number within its conversation.
    pub sequence: Option<i64>,
    /// The time of the record.
    pub occurred_at: Timestamp,
}

impl Citation {
    fn of(record: &Record) -> Self {
        let (message_id, sequence) = (record.source.message_id.clone(), record.source.sequence);
        Self { record: record.id, message_id, sequence, occurred_at: record.occurred_at }
    }
}

/// Returns the names in texts, those of the first text first.
pub(crate) fn seeds<'t>(texts: impl IntoIterator<Item = &'t str>) -> Seeds {
    let mut seen = BTreeSet::new();
    let names = texts.into_iter().flat_map(names_in).filter(|name| seen.insert(name.clone()));
    Seeds::Names(names.take(GraphQuery::MAX_SEEDS).collect())
}

/// Returns entities and relations with the latest record that states each.
pub(crate) async fn facts(store: &IndexedStore, scope: &ReadScope, query: &GraphFactsQuery) -> Result<GraphFacts> {
    let from = match &query.texts {
        Some(texts) => seeds(texts.iter().map(String::as_str)),
        None => Seeds::MostMentioned,
    };
    let mut walk = GraphQuery::new(from)
        .with_hops(query.hops)
        .with_limits(query.entities, query.relations)
        .with_filter(query.filter.clone());
    walk.at = query.at;
    let found = scope.expand_graph(store.graph().as_ref(), walk).await?;
    let of_entities = found.entities.iter().flat_map(|entity| &entity.evidence);
    let of_edges = found.edges.iter().flat_map(|edge| &edge.evidence);
    let ids: BTreeSet<RecordId> = of_entities.chain(of_edges).copied().collect();
    let ids: Vec<RecordId> = ids.into_iter().collect();
    let records = scope.get(store, &ids).await?;
    // A record may have been deleted or revoked since the walk: what it alone states is left out.
    let now = store.clock().now();
    let is_current = |record: &Record| record.state == State::Active && !record.is_expired(now);
    let active = records.into_iter().flatten().filter(is_current);
    let active: BTreeMap<RecordId, Record> = active.map(|record| (record.id, record)).collect();
    let cite = |evidence: &[RecordId]| evidence.iter().find_map(|id| active.get(id)).map(Citation::of);
    let entities = found.entities.iter().filter_map(|entity| {
        let citation = cite(&entity.evidence)?;
        Some(KeyEntity { name: entity.name.clone(), kind: entity.kind, aliases: entity.aliases.clone(), citation })
    });
    let relations = found.edges.iter().filter_map(|edge| {
        let name = |id| found.entity(id).map(|entity| entity.name.clone());
        let (source, target, citation) = (name(edge.source)?, name(edge.target)?, cite(&edge.evidence)?);
        let (relation, valid_from, valid_until) = (edge.relation.clone(), edge.valid_from, edge.valid_until);
        Some(KeyRelation { source, relation, target, valid_from, valid_until, rules: edge.rules.clone(), citation })
    });
    Ok(GraphFacts { entities: entities.collect(), relations: relations.collect() })
}
