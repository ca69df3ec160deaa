//! The records that mention an entity or state the relations between two.

use std::collections::BTreeSet;

use axum::{Json, extract::State};
use memory_engine::{
    RecordId, State as RecordState,
    graph::{Edge, EntityId, EntityKind, GraphQuery, Seeds, Subgraph},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::unexpired;
use crate::{
    fault::Fault,
    inspector::{evidence::EvidenceRecord, query::Scoped, state::InspectorState},
    request::check_limit,
};

const MAX_LIMIT: usize = GraphQuery::MAX_EVIDENCE;
const DEFAULT_LIMIT: usize = 20;
/// Maximum number of neighbours of an entity.
const MAX_NEIGHBOURS: usize = 200;
/// Maximum number of relations.
const MAX_RELATIONS: usize = 400;

/// An entity, or the two ends of relations.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(in crate::inspector) struct EvidenceParams {
    /// The id of an entity, for the records that mention it and its relations.
    entity: String,
    /// The id of an entity, with `target`, for the relations between both in either direction.
    source: String,
    /// The id of the other entity.
    target: String,
    /// Maximum number of records, from 1 to 100. Default: 20.
    #[schemars(range(min = 1, max = MAX_LIMIT))]
    limit: Option<usize>,
}

/// An entity or the relations between two entities, with the records that state them.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::inspector) struct GraphEvidence {
    /// The entity, or the two ends.
    entities: Vec<NamedEntity>,
    /// The relations of the entity, or those between the ends.
    relations: Vec<StatedRelation>,
    /// The records, latest first.
    records: Vec<EvidenceRecord>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct NamedEntity {
    #[schemars(with = "String")]
    id: EntityId,
    name: String,
    /// person, place, org, concept or other.
    #[schemars(with = "String")]
    kind: EntityKind,
    aliases: Vec<String>,
    /// Number of records that mention it.
    mentions: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct StatedRelation {
    #[schemars(with = "String")]
    source: EntityId,
    source_name: String,
    relation: String,
    #[schemars(with = "String")]
    target: EntityId,
    target_name: String,
    valid_from: Option<String>,
    valid_until: Option<String>,
    /// The rules that made it; `model` for a model.
    rules: Vec<String>,
    /// Number of records that state it.
    records: u64,
    /// The latest of these records.
    #[schemars(with = "Vec<String>")]
    evidence: Vec<RecordId>,
}

/// The checked parameters.
enum Subject {
    Entity(EntityId),
    Pair(EntityId, EntityId),
}

pub(in crate::inspector) async fn show_evidence(
    State(state): State<InspectorState>,
    Scoped { scope, params, .. }: Scoped<EvidenceParams>,
) -> Result<Json<GraphEvidence>, Fault> {
    let limit = check_limit(params.limit.unwrap_or(DEFAULT_LIMIT), MAX_LIMIT)?;
    let subject = Subject::new(&params)?;
    let now = state.engine.settings().clock().now();
    let query = subject.query().with_evidence(limit).with_filter(Some(unexpired(now)));
    state.engine.audit().log_export(&scope, "inspector.graph.evidence").await?;
    let found = state.engine.graph().store().expand(&scope, &query).await?;
    let subject_entities = found.entities.iter().filter(|entity| entity.hops == 0);
    let entities: Vec<NamedEntity> = subject_entities
        .map(|entity| NamedEntity {
            id: entity.id,
            name: entity.name.clone(),
            kind: entity.kind,
            aliases: entity.aliases.clone(),
            mentions: entity.mentions,
        })
        .collect();
    if entities.is_empty() {
        return Err(Fault::not_found("this owner has no such entity; GET /api/inspector/graph lists them"));
    }
    let is_own = |edge: &&Edge| entities.iter().any(|entity| entity.id == edge.source || entity.id == edge.target);
    let relations: Vec<&Edge> = found.edges.iter().filter(is_own).collect();
    let ids: BTreeSet<RecordId> = match subject {
        Subject::Entity(_) => {
            found.entities.iter().filter(|entity| entity.hops == 0).flat_map(|entity| entity.evidence.clone()).collect()
        }
        Subject::Pair(..) => relations.iter().flat_map(|edge| edge.evidence.clone()).collect(),
    };
    let ids: Vec<RecordId> = ids.into_iter().collect();
    let mut records: Vec<_> = state.engine.get_all(&scope, &ids).await?.into_iter().flatten().collect();
    // A record may have been retracted since the entities were read.
    records.retain(|record| record.state == RecordState::Active);
    records.sort_by_key(|record| std::cmp::Reverse(record.position()));
    records.truncate(limit);
    let relations = relations.into_iter().filter_map(|edge| StatedRelation::new(edge, &found)).collect();
    Ok(Json(GraphEvidence { entities, relations, records: records.into_iter().map(EvidenceRecord::from).collect() }))
}

impl Subject {
    fn new(params: &EvidenceParams) -> Result<Self, Fault> {
        match [params.entity.trim(), params.source.trim(), params.target.trim()] {
            [entity, "", ""] if !entity.is_empty() => Ok(Self::Entity(entity.parse()?)),
            ["", source, target] if !source.is_empty() && !target.is_empty() => {
                Ok(Self::Pair(source.parse()?, target.parse()?))
            }
            _ => Err(Fault::bad_request("name an entity, or a source and a target, with the ids of the graph")),
        }
    }

    fn query(&self) -> GraphQuery {
        match self {
            Self::Entity(id) => GraphQuery::new(Seeds::Ids(vec![*id])).with_limits(MAX_NEIGHBOURS, MAX_RELATIONS),
            // Only the ends are wanted, so that no other entity is added.
            Self::Pair(source, target) => {
                GraphQuery::new(Seeds::Ids(vec![*source, *target])).with_limits(2, MAX_RELATIONS)
            }
        }
    }
}

impl StatedRelation {
    fn new(edge: &Edge, found: &Subgraph) -> Option<Self> {
        let name = |id| found.entity(id).map(|entity| entity.name.clone());
        Some(Self {
            source: edge.source,
            source_name: name(edge.source)?,
            relation: edge.relation.clone(),
            target: edge.target,
            target_name: name(edge.target)?,
            valid_from: edge.valid_from.map(|time| time.to_string()),
            valid_until: edge.valid_until.map(|time| time.to_string()),
            rules: edge.rules.iter().map(ToString::to_string).collect(),
            records: edge.records,
            evidence: edge.evidence.clone(),
        })
    }
}
