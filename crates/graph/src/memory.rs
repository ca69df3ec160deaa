//! The store that keeps its graph in memory.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use async_trait::async_trait;
use memory_engine_core::sync::RwLock;
use memory_engine_core::{Filter, Record, RecordId, RemovalCounts, Result, Scope, State};

use crate::{
    query::GraphQuery,
    rows::Rows,
    store::{GraphEntry, GraphStats, GraphStore},
    subgraph::Subgraph,
    walk::Walk,
};

/// A [`GraphStore`] in memory, gone with the process.
///
/// It walks over all that one user's records say: fine for some ten thousand of them.
#[derive(Debug, Default)]
pub struct MemoryGraphStore(RwLock<BTreeMap<Scope, Entries>>);

/// The extractions of one tenant or user, by record id and scope.
type Entries = BTreeMap<(RecordId, Scope), StoredExtraction>;

#[derive(Debug)]
struct StoredExtraction {
    record: Arc<Record>,
    rows: Rows,
}

impl MemoryGraphStore {
    /// An empty store.
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
        let mut shelves = self.0.write();
        for entry in entries {
            let shelf = shelves.entry(entry.record.scope.namespace()).or_default();
            let key = (entry.record.id, entry.record.scope.clone());
            if entry.extraction.is_empty() || entry.record.state != State::Active {
                shelf.remove(&key);
            } else {
                shelf.insert(key, StoredExtraction { record: Arc::clone(&entry.record), rows: Rows::whole(entry) });
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
        let shelves = self.0.read();
        let parts = shelves.iter().filter(|(owner, _)| meet(scope, owner)).map(|(owner, shelf)| {
            let matches = |said: &&StoredExtraction| {
                query.filter.as_ref().is_none_or(|filter: &Filter| filter.matches(&said.record))
            };
            let seen = shelf.values().filter(|said| scope.covers(&said.record.scope)).filter(matches);
            Walk::over(owner, query, &seen.map(|said| &said.rows).collect::<Vec<_>>())
        });
        Ok(Subgraph::merged(parts, query.entities, query.edges))
    }

    async fn stats(&self, scope: &Scope) -> Result<GraphStats> {
        let shelves = self.0.read();
        let within = shelves.iter().filter(|(owner, _)| meet(scope, owner)).flat_map(|(_, shelf)| shelf.values());
        let (mut entities, mut edges, mut records) = (BTreeSet::new(), BTreeSet::new(), 0);
        for said in within.filter(|said| scope.covers(&said.record.scope)) {
            records += 1;
            entities.extend(said.rows.mentions.iter().map(|row| row.entity));
            edges.extend(said.rows.edges.iter().map(|row| (row.source, &row.relation, row.target)));
        }
        Ok(GraphStats::new(entities.len() as u64, edges.len() as u64, records))
    }

    async fn clear(&self, scope: &Scope) -> Result<()> {
        self.retain(scope, |_| false);
        Ok(())
    }
}

impl MemoryGraphStore {
    /// Keeps extractions outside of the scope, and within it those that `keep` accepts. Counts the others.
    fn retain(&self, scope: &Scope, keep: impl Fn(&RecordId) -> bool) -> RemovalCounts {
        let mut shelves = self.0.write();
        let mut removed = RemovalCounts::default();
        for (_, shelf) in shelves.iter_mut().filter(|(owner, _)| meet(scope, owner)) {
            shelf.retain(|(id, address), said| {
                let kept = !scope.covers(address) || keep(id);
                if !kept {
                    removed += said.rows.counted();
                }
                kept
            });
        }
        shelves.retain(|_, shelf| !shelf.is_empty());
        removed
    }
}

/// Returns true if a scope covers a part of a namespace.
fn meet(scope: &Scope, owner: &Scope) -> bool {
    scope.namespace().covers(owner)
}
