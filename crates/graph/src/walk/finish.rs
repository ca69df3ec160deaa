//! Builds the subgraph from the rows of a finished walk.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{Cursor, RecordId, RuleId, Timestamp, phrases::fold};

use super::{Walk, groups::Groups};
use crate::{
    entity::{EntityId, EntityKind},
    rows::MentionRow,
    subgraph::{Edge, Entity, Subgraph},
};

/// The identity of an edge: source, relation, target, and the times from which and until which it holds.
type EdgeKey = (EntityId, String, EntityId, Option<Timestamp>, Option<Timestamp>);

/// The records that state a relation, and the rules that made it.
#[derive(Default)]
struct Statements {
    records: BTreeSet<Cursor>,
    rules: BTreeSet<RuleId>,
}

impl Walk<'_> {
    /// Returns the result of the walk.
    pub fn finish(self) -> Subgraph {
        let groups = self.groups();
        subgraph(self, &groups)
    }
}

fn subgraph(walk: Walk<'_>, groups: &Groups<EntityId>) -> Subgraph {
    let mut by_group: BTreeMap<EntityId, Vec<&MentionRow>> = BTreeMap::new();
    for row in &walk.mentions {
        by_group.entry(groups.root(&row.entity)).or_default().push(row);
    }
    let mut entities_by_root = BTreeMap::new();
    for (root, mut rows) in by_group {
        rows.sort_by(|a, b| b.record.cmp(&a.record).then(a.entity.cmp(&b.entity)));
        if let Some(hops) = rows.iter().filter_map(|row| walk.distances.get(&row.entity)).min() {
            entities_by_root.insert(root, entity(&walk, groups, root, &rows, *hops));
        }
    }
    let mut entities: Vec<Entity> = entities_by_root.values().cloned().collect();
    entities.sort_by(Entity::nearest_first);
    entities.truncate(walk.query.entities);
    let edges = edges(&walk, groups, &entities_by_root, &entities);
    Subgraph { entities, edges }
}

/// Returns the edges between `entities`, which are those of `entities_by_root` within the limit.
fn edges(
    walk: &Walk<'_>,
    groups: &Groups<EntityId>,
    entities_by_root: &BTreeMap<EntityId, Entity>,
    entities: &[Entity],
) -> Vec<Edge> {
    let kept: BTreeSet<EntityId> = entities.iter().map(|entity| entity.id).collect();
    let end = |id: EntityId| entities_by_root.get(&groups.root(&id)).filter(|entity| kept.contains(&entity.id));
    let mut stated: BTreeMap<EdgeKey, Statements> = BTreeMap::new();
    for (row, _) in &walk.edges {
        if let (Some(source), Some(target)) = (end(row.source), end(row.target))
            && source.id != target.id
        {
            let key = (source.id, row.relation.clone(), target.id, row.valid_from, row.valid_until);
            let statements = stated.entry(key).or_default();
            statements.records.insert(row.record);
            statements.rules.extend(row.rule.clone());
        }
    }
    let position = |id: EntityId| entities.iter().position(|entity| entity.id == id).unwrap_or(usize::MAX);
    let mut edges: Vec<(Option<Cursor>, Edge)> = stated
        .into_iter()
        .map(|((source, relation, target, valid_from, valid_until), Statements { records, rules })| {
            let nearer_end = position(source).min(position(target));
            let hops = entities.get(nearer_end).map_or(0, |entity| entity.hops);
            let latest = records.last().copied();
            let count = records.len() as u64;
            let evidence = first_ids(records.into_iter().rev(), walk.query.evidence);
            let rules = rules.into_iter().collect();
            (latest, Edge { source, relation, target, valid_from, valid_until, records: count, evidence, rules, hops })
        })
        .collect();
    edges.sort_by(|(latest_a, a), (latest_b, b)| {
        let ends = |edge: &Edge| (position(edge.source), position(edge.target));
        let by_count = a.hops.cmp(&b.hops).then(b.records.cmp(&a.records)).then(latest_b.cmp(latest_a));
        // The sort is stable: otherwise equal edges keep the order of their keys.
        by_count.then_with(|| ends(a).cmp(&ends(b)))
    });
    edges.truncate(walk.query.edges);
    edges.into_iter().map(|(_, edge)| edge).collect()
}

/// Returns one entity, from its mentions under all of its names, latest first.
fn entity(walk: &Walk<'_>, groups: &Groups<EntityId>, root: EntityId, rows: &[&MentionRow], hops: u32) -> Entity {
    let mut totals: BTreeMap<EntityId, u64> = BTreeMap::new();
    let mut spellings: BTreeMap<EntityId, BTreeMap<&str, usize>> = BTreeMap::new();
    let mut kinds: BTreeMap<EntityKind, usize> = BTreeMap::new();
    for row in rows {
        *totals.entry(row.entity).or_default() = row.total.max(totals.get(&row.entity).copied().unwrap_or(0));
        *spellings.entry(row.entity).or_default().entry(&row.name).or_default() += 1;
        *kinds.entry(row.kind).or_default() += 1;
    }
    // The name of the group is one that no other claims as an alias; of several, the most frequent one.
    let rank = |id: &EntityId| (groups.is_claimed(id), std::cmp::Reverse(totals.get(id).copied().unwrap_or(0)), *id);
    let id = totals.keys().copied().min_by_key(rank).unwrap_or(root);
    let most_frequent = |names: &BTreeMap<&str, usize>| {
        let best = names.iter().max_by(|a, b| a.1.cmp(b.1).then(b.0.cmp(a.0)));
        best.map(|(name, _)| (*name).to_owned()).unwrap_or_default()
    };
    let name = spellings.get(&id).map(most_frequent).unwrap_or_default();
    let stated_aliases = walk.aliases.iter().filter(|row| groups.root(&row.entity) == root).map(|row| row.name.clone());
    let mut aliases: BTreeMap<String, String> = BTreeMap::new();
    for other in spellings.values().map(most_frequent).chain(stated_aliases) {
        if fold(&other) != fold(&name) {
            aliases.entry(fold(&other)).and_modify(|old| *old = other.clone().min(old.clone())).or_insert(other);
        }
    }
    let known_kind =
        kinds.iter().filter(|(kind, _)| **kind != EntityKind::Other).max_by(|a, b| a.1.cmp(b.1).then(b.0.cmp(a.0)));
    Entity {
        id,
        name,
        kind: known_kind.map_or(EntityKind::Other, |(kind, _)| *kind),
        aliases: aliases.into_values().collect(),
        mentions: totals.values().sum(),
        evidence: first_ids(rows.iter().map(|row| row.record), walk.query.evidence),
        hops,
    }
}

/// Returns the ids of the first records, each once, at most `limit`.
fn first_ids(records: impl Iterator<Item = Cursor>, limit: usize) -> Vec<RecordId> {
    let mut seen = BTreeSet::new();
    records.map(|record| record.id).filter(|id| seen.insert(*id)).take(limit).collect()
}
