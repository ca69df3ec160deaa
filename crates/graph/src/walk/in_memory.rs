//! A walk over rows in memory.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::Scope;

use super::{Ask, Walk};
use crate::{
    entity::EntityId,
    query::GraphQuery,
    rows::{GraphRows, MentionRow},
    subgraph::Subgraph,
};

impl Walk<'_> {
    /// Returns the result of a query over all visible rows, for a store that has them in memory. It reads every row.
    pub fn over(owner: &Scope, query: &GraphQuery, visible: &[&GraphRows]) -> Subgraph {
        let mut walk = Walk::new(owner, query, || most_mentioned(visible, query.entities));
        while let Some(ask) = walk.next() {
            match ask {
                Ask::Aliases(ids) => {
                    let rows = visible.iter().flat_map(|rows| &rows.aliases);
                    walk.aliases(rows.filter(|row| ids.contains(&row.entity) || ids.contains(&row.alias)).cloned());
                }
                Ask::Edges(ids) => {
                    let rows = visible.iter().flat_map(|rows| &rows.edges);
                    walk.edges(rows.filter(|row| ids.contains(&row.source) || ids.contains(&row.target)).cloned());
                }
                Ask::Mentions(ids) => {
                    let rows = latest_mentions(visible, &ids, walk.evidence());
                    walk.mentions(rows);
                }
            }
        }
        walk.finish()
    }
}

/// Returns the entities that most records mention; among equal ones, the lesser ids first.
fn most_mentioned(visible: &[&GraphRows], limit: usize) -> Vec<EntityId> {
    let mut counts: BTreeMap<EntityId, u64> = BTreeMap::new();
    for row in visible.iter().flat_map(|rows| &rows.mentions) {
        *counts.entry(row.entity).or_default() += 1;
    }
    let mut all: Vec<(EntityId, u64)> = counts.into_iter().collect();
    all.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    all.into_iter().take(limit).map(|(id, _)| id).collect()
}

/// Returns the latest mentions of each entity, at most `limit` for each, with the total number.
fn latest_mentions(visible: &[&GraphRows], ids: &BTreeSet<EntityId>, limit: usize) -> Vec<MentionRow> {
    let mut by_entity: BTreeMap<EntityId, Vec<&MentionRow>> = BTreeMap::new();
    for row in visible.iter().flat_map(|rows| &rows.mentions).filter(|row| ids.contains(&row.entity)) {
        by_entity.entry(row.entity).or_default().push(row);
    }
    let mut rows = Vec::new();
    for mut mentions in by_entity.into_values() {
        mentions.sort_by_key(|row| std::cmp::Reverse(row.record));
        let total = mentions.len() as u64;
        rows.extend(mentions.into_iter().take(limit).map(|row| MentionRow { total, ..row.clone() }));
    }
    rows
}
