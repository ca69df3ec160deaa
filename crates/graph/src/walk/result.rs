//! From the rows of a walk to what it found.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{Cursor, RecordId, RuleId, Timestamp, phrases::fold};

use super::{Walk, groups::Groups};
use crate::{
    entity::{EntityId, EntityKind},
    rows::MentionRow,
    subgraph::{Edge, Entity, Subgraph},
};

/// A relation by all that makes it one.
type Key = (EntityId, String, EntityId, Option<Timestamp>, Option<Timestamp>);

/// The records that state a relation, and the rules that made it of them.
#[derive(Default)]
struct Statements {
    records: BTreeSet<Cursor>,
    rules: BTreeSet<RuleId>,
}

impl Walk<'_> {
    /// Returns what the walk has found.
    pub fn finish(self) -> Subgraph {
        let groups = self.groups();
        subgraph(self, &groups)
    }
}

fn subgraph(walk: Walk<'_>, groups: &Groups<EntityId>) -> Subgraph {
    let mut of: BTreeMap<EntityId, Vec<&MentionRow>> = BTreeMap::new();
    for row in &walk.mentions {
        of.entry(groups.root(&row.entity)).or_default().push(row);
    }
    let mut found = BTreeMap::new();
    for (root, mut rows) in of {
        rows.sort_by(|a, b| b.record.cmp(&a.record).then(a.entity.cmp(&b.entity)));
        if let Some(hops) = rows.iter().filter_map(|row| walk.distances.get(&row.entity)).min() {
            found.insert(root, entity(&walk, groups, root, &rows, *hops));
        }
    }
    let mut entities: Vec<Entity> = found.values().cloned().collect();
    entities.sort_by(Entity::nearest_first);
    entities.truncate(walk.query.entities);
    let kept: BTreeSet<EntityId> = entities.iter().map(|entity| entity.id).collect();
    let end = |id: EntityId| found.get(&groups.root(&id)).filter(|entity| kept.contains(&entity.id));
    let mut stated: BTreeMap<Key, Statements> = BTreeMap::new();
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
    let place = |id: EntityId| entities.iter().position(|entity| entity.id == id).unwrap_or(usize::MAX);
    let mut edges: Vec<(Option<Cursor>, Edge)> = stated
        .into_iter()
        .map(|((source, relation, target, valid_from, valid_until), Statements { records, rules })| {
            let near = place(source).min(place(target));
            let hops = entities.get(near).map_or(0, |entity| entity.hops);
            let latest = records.last().copied();
            let (count, evidence) = (records.len() as u64, latest_of(records.into_iter().rev(), walk.query.evidence));
            let rules = rules.into_iter().collect();
            (latest, Edge { source, relation, target, valid_from, valid_until, records: count, evidence, rules, hops })
        })
        .collect();
    edges.sort_by(|(latest_a, a), (latest_b, b)| {
        let ends = |edge: &Edge| (place(edge.source), place(edge.target));
        let by_count = a.hops.cmp(&b.hops).then(b.records.cmp(&a.records)).then(latest_b.cmp(latest_a));
        // What is left is the order of the keys, which they come in.
        by_count.then_with(|| ends(a).cmp(&ends(b)))
    });
    edges.truncate(walk.query.edges);
    Subgraph { entities, edges: edges.into_iter().map(|(_, edge)| edge).collect() }
}

/// One entity, from its mentions under all of its names, latest first.
fn entity(walk: &Walk<'_>, groups: &Groups<EntityId>, root: EntityId, rows: &[&MentionRow], hops: u32) -> Entity {
    let mut totals: BTreeMap<EntityId, u64> = BTreeMap::new();
    let mut spelled: BTreeMap<EntityId, BTreeMap<&str, usize>> = BTreeMap::new();
    let mut kinds: BTreeMap<EntityKind, usize> = BTreeMap::new();
    for row in rows {
        *totals.entry(row.entity).or_default() = row.total.max(totals.get(&row.entity).copied().unwrap_or(0));
        *spelled.entry(row.entity).or_default().entry(&row.name).or_default() += 1;
        *kinds.entry(row.kind).or_default() += 1;
    }
    // The name of the group is one that no other claims as an alias; of several, the most frequent one.
    let rank = |id: &EntityId| (groups.is_claimed(id), std::cmp::Reverse(totals.get(id).copied().unwrap_or(0)), *id);
    let id = totals.keys().copied().min_by_key(rank).unwrap_or(root);
    let most = |names: &BTreeMap<&str, usize>| {
        let best = names.iter().max_by(|a, b| a.1.cmp(b.1).then(b.0.cmp(a.0)));
        best.map(|(name, _)| (*name).to_owned()).unwrap_or_default()
    };
    let name = spelled.get(&id).map(most).unwrap_or_default();
    let called = walk.aliases.iter().filter(|row| groups.root(&row.entity) == root).map(|row| row.name.clone());
    let mut aliases: BTreeMap<String, String> = BTreeMap::new();
    for other in spelled.values().map(most).chain(called) {
        if fold(&other) != fold(&name) {
            aliases.entry(fold(&other)).and_modify(|old| *old = other.clone().min(old.clone())).or_insert(other);
        }
    }
    let sure =
        kinds.iter().filter(|(kind, _)| **kind != EntityKind::Other).max_by(|a, b| a.1.cmp(b.1).then(b.0.cmp(a.0)));
    Entity {
        id,
        name,
        kind: sure.map_or(EntityKind::Other, |(kind, _)| *kind),
        aliases: aliases.into_values().collect(),
        mentions: totals.values().sum(),
        evidence: latest_of(rows.iter().map(|row| row.record), walk.query.evidence),
        hops,
    }
}

/// The first few records, each once.
fn latest_of(records: impl Iterator<Item = Cursor>, limit: usize) -> Vec<RecordId> {
    let mut seen = BTreeSet::new();
    records.map(|record| record.id).filter(|id| seen.insert(*id)).take(limit).collect()
}
