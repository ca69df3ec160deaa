//! Entities and relations with the records that they are from.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{Filter, Record, RecordId, Result, RuleId, Scope, State, Timestamp};
use memory_engine_graph::{EntityKind, GraphQuery, Seeds, names_in};
use serde::Serialize;

use crate::MemoryEngine;

/// Which entities and relations are wanted.
#[derive(Debug, Clone)]
#[must_use]
#[non_exhaustive]
pub struct FactQuery {
    /// The texts that name the entities to begin with: the question, and what was said last. Without any it begins with those
    /// that most records mention.
    pub texts: Option<Vec<String>>,
    /// How many relations far.
    pub hops: u32,
    /// How many entities at the most.
    pub entities: usize,
    /// How many relations at the most.
    pub relations: usize,
    /// Only what records that match say.
    pub filter: Option<Filter>,
    /// Only relations that hold at this time.
    pub at: Option<Timestamp>,
}

impl FactQuery {
    /// What lies one relation around the entities that these texts name: ten entities and twelve relations at the most.
    pub fn about<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        Self { texts: Some(texts.into_iter().map(Into::into).collect()), ..Self::most_mentioned() }
    }

    /// Those that most records mention, with what lies one relation around them: as many.
    pub fn most_mentioned() -> Self {
        Self { texts: None, hops: 1, entities: 10, relations: 12, filter: None, at: None }
    }

    /// Goes so far.
    pub fn with_hops(mut self, hops: u32) -> Self {
        self.hops = hops;
        self
    }

    /// Gives at most so many.
    pub fn with_limits(mut self, entities: usize, relations: usize) -> Self {
        (self.entities, self.relations) = (entities, relations);
        self
    }

    /// Only what records that match say.
    pub fn with_filter(mut self, filter: Option<Filter>) -> Self {
        self.filter = filter;
        self
    }

    /// Only relations that hold at this time.
    pub fn at(mut self, time: Timestamp) -> Self {
        self.at = Some(time);
        self
    }
}

/// Entities and relations, the nearest first, each with what it is from.
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
    /// The name it goes by.
    pub name: String,
    /// What sort of thing it is.
    pub kind: EntityKind,
    /// Its other names.
    pub aliases: Vec<String>,
    /// Where it is from.
    pub citation: Citation,
}

/// A relation with the latest record that says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct KeyRelation {
    /// The name of the entity that it goes out from.
    pub source: String,
    /// What that one is to the other.
    pub relation: String,
    /// The name of the other.
    pub target: String,
    /// From when on it holds, if that is known.
    pub valid_from: Option<Timestamp>,
    /// Until when it held, if it no longer does.
    pub valid_until: Option<Timestamp>,
    /// The rules that made it of its records, each once; `model` for a language model. Empty when a caller stated it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleId>,
    /// Where it is from.
    pub citation: Citation,
}

/// Which record says so, and which message that was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Citation {
    /// The record.
    pub record: RecordId,
    /// The message's id where it came from.
    pub message_id: Option<String>,
    /// The message's number within its conversation.
    pub sequence: Option<i64>,
    /// When it occurred.
    pub occurred_at: Timestamp,
}

impl Citation {
    fn of(record: &Record) -> Self {
        let (message_id, sequence) = (record.source.message_id.clone(), record.source.sequence);
        Self { record: record.id, message_id, sequence, occurred_at: record.occurred_at }
    }
}

/// The names in texts, those of the first text first.
pub(crate) fn seeds<'t>(texts: impl IntoIterator<Item = &'t str>) -> Seeds {
    let mut seen = BTreeSet::new();
    let names = texts.into_iter().flat_map(names_in).filter(|name| seen.insert(name.clone()));
    Seeds::Names(names.take(GraphQuery::MAX_SEEDS).collect())
}

pub(super) async fn facts(engine: &MemoryEngine, scope: &Scope, query: &FactQuery) -> Result<GraphFacts> {
    let view = engine.view(scope).await?;
    let (scope, filter) = (&view.scope, [view.filter, query.filter.clone()].into_iter().flatten().reduce(Filter::and));
    let named = |texts: &Vec<String>| seeds(texts.iter().map(String::as_str));
    let mut walk = GraphQuery::new(query.texts.as_ref().map_or(Seeds::MostMentioned, named))
        .with_hops(query.hops)
        .with_limits(query.entities, query.relations)
        .with_filter(filter);
    walk.at = query.at;
    let found = engine.graph_parts().store.expand(scope, &walk).await?;
    let evidence =
        found.entities.iter().map(|entity| &entity.evidence).chain(found.edges.iter().map(|edge| &edge.evidence));
    let ids: BTreeSet<RecordId> = evidence.flatten().copied().collect();
    let ids: Vec<RecordId> = ids.into_iter().collect();
    let records = engine.get_all(scope, &ids).await?;
    // A record may have been deleted or revoked since the walk: what it alone says is left out.
    let active = records.into_iter().flatten().filter(|record| record.state == State::Active);
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
