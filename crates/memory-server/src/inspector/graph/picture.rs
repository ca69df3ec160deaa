//! The entities and relations of a picture.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use axum::{Json, extract::State};
use memory_engine::{
    MemoryEngine, Scope, Timestamp,
    graph::{Edge, Entity, EntityId, EntityKind, GraphQuery, GraphStats, Seeds, Subgraph, names_in},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::unexpired;
use crate::{
    fault::Fault,
    inspector::{query::Scoped, state::InspectorState},
    request::check_limit,
};

const MAX_LIMIT: usize = 500;
const DEFAULT_LIMIT: usize = 500;
const DEFAULT_HOPS: u32 = 1;
/// Maximum number of the most mentioned entities that are ranked by their connections.
const MAX_CANDIDATES: usize = 1500;
/// Number of entities whose relations are read at a time. One query returns at most 2000 relations of records.
const RELATIONS_BATCH: usize = 150;
/// Maximum number of relations of a picture, those with the most records first.
const MAX_RELATIONS: usize = 3000;
/// Maximum number of entities whose name contains the searched text.
const MAX_MATCHES: usize = 50;

/// The parameters of a picture.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(in crate::inspector) struct GraphParams {
    /// Names of entities to begin with, or a part of a name. Default: the best-connected entities.
    about: String,
    /// Maximum number of relations between a named entity and a shown one, from 0 to 3. Default: 1.
    hops: Option<u32>,
    /// Maximum number of entities, from 1 to 500. Default: 500.
    #[schemars(range(min = 1, max = MAX_LIMIT))]
    limit: Option<usize>,
}

/// Entities and the relations between them.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::inspector) struct GraphPicture {
    /// The entities, the best-connected first; if some are named, the nearest first.
    nodes: Vec<Node>,
    /// The relations between these entities, those with the most records first, at most 3000.
    edges: Vec<PictureRelation>,
    /// Number of entities of the owner. An entity with several names may count more than once if there are more than
    /// 1500.
    total_entities: u64,
    /// Number of different relations of the owner.
    total_relations: u64,
    /// Number of records from which entities were extracted.
    records: u64,
    /// True if new records are added to the graph.
    has_extractor: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Node {
    #[schemars(with = "String")]
    id: EntityId,
    name: String,
    /// person, place, org, concept or other.
    #[schemars(with = "String")]
    kind: EntityKind,
    /// Its other names.
    aliases: Vec<String>,
    /// Number of records that mention it.
    mentions: u64,
    /// Number of other entities of the picture that it is related to.
    degree: usize,
    /// Number of relations between it and the nearest named entity; 0 for all if none is named.
    hops: u32,
}

/// A relation between two entities of the picture.
#[derive(Debug, Serialize, JsonSchema)]
struct PictureRelation {
    #[schemars(with = "String")]
    source: EntityId,
    relation: String,
    #[schemars(with = "String")]
    target: EntityId,
    /// Number of records that state it.
    records: u64,
    valid_from: Option<String>,
    valid_until: Option<String>,
}

/// The identity of a relation. Two relations with other times are not the same.
type EdgeKey = (EntityId, String, EntityId, Option<Timestamp>, Option<Timestamp>);

pub(in crate::inspector) async fn show_graph(
    State(state): State<InspectorState>,
    Scoped { scope, params, .. }: Scoped<GraphParams>,
) -> Result<Json<GraphPicture>, Fault> {
    let limit = check_limit(params.limit.unwrap_or(DEFAULT_LIMIT), MAX_LIMIT)?;
    let reader = GraphReader { engine: &state.engine, scope: &scope, now: state.engine.settings().clock().now() };
    state.engine.audit().log_export(&scope, "inspector.graph").await?;
    let stats = state.engine.graph().store().stats(&scope).await?;
    let hops = params.hops.unwrap_or(DEFAULT_HOPS);
    let (found, total_entities) = match params.about.trim() {
        "" => reader.best_connected(limit, stats).await?,
        about => (reader.near(about, hops, limit).await?, stats.entities),
    };
    let has_extractor = state.engine.graph().extractor().is_some();
    Ok(Json(GraphPicture::new(found, stats, total_entities, has_extractor)))
}

/// Reads the graph of a scope.
struct GraphReader<'s> {
    engine: &'s MemoryEngine,
    scope: &'s Scope,
    now: Timestamp,
}

impl GraphReader<'_> {
    async fn expand(&self, from: Seeds, hops: u32, limit: usize) -> Result<Subgraph, Fault> {
        let query = GraphQuery::new(from).with_hops(hops).with_limits(limit, usize::MAX).with_evidence(1);
        let query = query.with_filter(Some(unexpired(self.now)));
        Ok(self.engine.graph().store().expand(self.scope, &query).await?)
    }

    /// Returns the entities that these names mean, or whose name contains the text, and those near them.
    async fn near(&self, about: &str, hops: u32, limit: usize) -> Result<Subgraph, Fault> {
        let mut names = names_in(about);
        names.push(about.to_owned());
        names.truncate(GraphQuery::MAX_SEEDS);
        let named = self.expand(Seeds::Names(names), hops, limit).await?;
        if !named.is_empty() {
            return Ok(named);
        }
        let part = about.to_lowercase();
        let contains = |name: &String| name.to_lowercase().contains(&part);
        let all = self.expand(Seeds::MostMentioned, 0, MAX_CANDIDATES).await?.entities.into_iter();
        let matches = all.filter(|entity| contains(&entity.name) || entity.aliases.iter().any(contains));
        let matches: Vec<EntityId> = matches.map(|entity| entity.id).take(MAX_MATCHES).collect();
        self.expand(Seeds::Ids(matches), hops, limit).await
    }

    /// Returns the entities that are related to the most others, and the relations between them; and the number of all
    /// entities.
    async fn best_connected(&self, limit: usize, stats: GraphStats) -> Result<(Subgraph, u64), Fault> {
        let mut all = self.expand(Seeds::MostMentioned, 1, MAX_CANDIDATES).await?;
        let is_complete = all.edges.len() as u64 >= stats.edges;
        if !is_complete {
            // One walk returns the relations of the latest records only.
            let edges = std::mem::take(&mut all.edges);
            all.edges = self.all_relations(edges, &all.entities).await?;
        }
        let total = if all.entities.len() < MAX_CANDIDATES { all.entities.len() as u64 } else { stats.entities };
        let degrees = degrees(&all.edges);
        let degree = |entity: &Entity| degrees.get(&entity.id).copied().unwrap_or(0);
        all.entities.sort_by_cached_key(|entity| {
            (Reverse(degree(entity)), Reverse(entity.mentions), entity.name.clone(), entity.id)
        });
        all.entities.truncate(limit);
        Ok((all, total))
    }

    /// Returns the relations of these entities, read in batches, in addition to `known`.
    async fn all_relations(&self, known: Vec<Edge>, entities: &[Entity]) -> Result<Vec<Edge>, Fault> {
        let mut edges: BTreeMap<EdgeKey, Edge> = BTreeMap::new();
        let mut add = |edge: Edge| {
            let key = (edge.source, edge.relation.clone(), edge.target, edge.valid_from, edge.valid_until);
            let records = edge.records;
            let stored = edges.entry(key).or_insert(edge);
            stored.records = stored.records.max(records);
        };
        known.into_iter().for_each(&mut add);
        let ids: Vec<EntityId> = entities.iter().map(|entity| entity.id).collect();
        for batch in ids.chunks(RELATIONS_BATCH) {
            let found = self.expand(Seeds::Ids(batch.to_vec()), 1, MAX_CANDIDATES).await?;
            found.edges.into_iter().for_each(&mut add);
        }
        Ok(edges.into_values().collect())
    }
}

/// Returns the number of other entities that each entity is related to.
fn degrees(edges: &[Edge]) -> BTreeMap<EntityId, usize> {
    let mut neighbours: BTreeMap<EntityId, BTreeSet<EntityId>> = BTreeMap::new();
    for edge in edges {
        neighbours.entry(edge.source).or_default().insert(edge.target);
        neighbours.entry(edge.target).or_default().insert(edge.source);
    }
    neighbours.into_iter().map(|(id, others)| (id, others.len())).collect()
}

impl GraphPicture {
    fn new(found: Subgraph, stats: GraphStats, total_entities: u64, has_extractor: bool) -> Self {
        let Subgraph { entities, mut edges } = found;
        let shown: BTreeSet<EntityId> = entities.iter().map(|entity| entity.id).collect();
        edges.retain(|edge| shown.contains(&edge.source) && shown.contains(&edge.target));
        // Of all relations, also of those that are left out below.
        let degrees = degrees(&edges);
        edges.sort_by_key(|edge| Reverse(edge.records));
        edges.truncate(MAX_RELATIONS);
        let nodes = entities.into_iter().map(|entity| Node {
            degree: degrees.get(&entity.id).copied().unwrap_or(0),
            id: entity.id,
            name: entity.name,
            kind: entity.kind,
            aliases: entity.aliases,
            mentions: entity.mentions,
            hops: entity.hops,
        });
        let nodes: Vec<Node> = nodes.collect();
        let edges = edges.into_iter().map(|edge| PictureRelation {
            source: edge.source,
            relation: edge.relation,
            target: edge.target,
            records: edge.records,
            valid_from: edge.valid_from.map(|time| time.to_string()),
            valid_until: edge.valid_until.map(|time| time.to_string()),
        });
        Self {
            total_entities: total_entities.max(nodes.len() as u64),
            nodes,
            edges: edges.collect(),
            total_relations: stats.edges,
            records: stats.records,
            has_extractor,
        }
    }
}
