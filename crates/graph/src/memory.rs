//! A graph store in memory.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use async_trait::async_trait;
use memory_engine_core::sync::RwLock;
use memory_engine_core::{Filter, Record, RecordId, RemovalCounts, Result, Scope, State};

use crate::{
    query::GraphQuery,
    rows::GraphRows,
    store::{GraphEntry, GraphStats, GraphStore},
    subgraph::Subgraph,
    walk::Walk,
};

/// A [`GraphStore`] in memory. Nothing is persisted.
///
/// A query reads all rows of a user, which is fast enough for about ten thousand records.
#[derive(Debug, Default)]
pub struct MemoryGraphStore(RwLock<BTreeMap<Scope, Extractions>>);

/// The extractions of one tenant or user, by record id and scope.
type Extractions = BTreeMap<(RecordId, Scope), StoredExtraction>;

#[derive(Debug)]
struct StoredExtraction {
    record: Arc<Record>,
    rows: GraphRows,
}

impl MemoryGraphStore {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self::default()
    }
}

#[async_trait]
impl GraphStore for MemoryGraphStore {
    async fn upsert(&self, scope: &Scope, entries: &[GraphEntry]) -> Result<()> {
        for entry in entries {
            scope.authorize("graph upsert", &entry.record.scope)?;
            entry.extraction.validate()?;
        }
        let mut owners = self.0.write();
        for entry in entries {
            let extractions = owners.entry(entry.record.scope.namespace()).or_default();
            let key = (entry.record.id, entry.record.scope.clone());
            if entry.extraction.is_empty() || entry.record.state != State::Active {
                extractions.remove(&key);
            } else {
                let rows = GraphRows::of_with_record_times(entry);
                extractions.insert(key, StoredExtraction { record: Arc::clone(&entry.record), rows });
            }
        }
        Ok(())
    }

    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<RemovalCounts> {
        let ids: BTreeSet<&RecordId> = ids.iter().collect();
        Ok(self.retain(scope, |id| !ids.contains(id)))
    }

    async fn expand(&self, scope: &Scope, query: &GraphQuery) -> Result<Subgraph> {
        query.validate()?;
        let owners = self.0.read();
        let is_visible = |stored: &&StoredExtraction| {
            scope.covers(&stored.record.scope)
                && query.filter.as_ref().is_none_or(|filter: &Filter| filter.matches(&stored.record))
        };
        let parts = owners.iter().filter(|(owner, _)| is_owner_within(scope, owner)).map(|(owner, extractions)| {
            let visible: Vec<&GraphRows> = extractions.values().filter(is_visible).map(|stored| &stored.rows).collect();
            Walk::over(owner, query, &visible)
        });
        Ok(Subgraph::merged(parts, query.entities, query.edges))
    }

    async fn stats(&self, scope: &Scope) -> Result<GraphStats> {
        let owners = self.0.read();
        let within = owners
            .iter()
            .filter(|(owner, _)| is_owner_within(scope, owner))
            .flat_map(|(_, extractions)| extractions.values());
        let mut entities = BTreeSet::new();
        let mut edges = BTreeSet::new();
        let mut records = 0;
        for stored in within.filter(|stored| scope.covers(&stored.record.scope)) {
            records += 1;
            entities.extend(stored.rows.mentions.iter().map(|row| row.entity));
            edges.extend(stored.rows.edges.iter().map(|row| (row.source, &row.relation, row.target)));
        }
        Ok(GraphStats::new(entities.len() as u64, edges.len() as u64, records))
    }

    async fn clear(&self, scope: &Scope) -> Result<()> {
        self.retain(scope, |_| false);
        Ok(())
    }
}

impl MemoryGraphStore {
    /// Removes the extractions within the scope that `keep` rejects. Returns the numbers of removed rows.
    fn retain(&self, scope: &Scope, keep: impl Fn(&RecordId) -> bool) -> RemovalCounts {
        let mut owners = self.0.write();
        let mut removed = RemovalCounts::default();
        for (_, extractions) in owners.iter_mut().filter(|(owner, _)| is_owner_within(scope, owner)) {
            extractions.retain(|(id, record_scope), stored| {
                let is_kept = !scope.covers(record_scope) || keep(id);
                if !is_kept {
                    removed += stored.rows.removal_counts();
                }
                is_kept
            });
        }
        owners.retain(|_, extractions| !extractions.is_empty());
        removed
    }
}

/// Returns true if a namespace belongs to the tenant and user of a scope.
fn is_owner_within(scope: &Scope, owner: &Scope) -> bool {
    scope.namespace().covers(owner)
}
