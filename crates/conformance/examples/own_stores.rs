//! A custom vector store and a custom graph store, each a list behind a lock. It shows what a program implements to
//! plug in another database. `main` runs the suite on them, and so does `tests/own_stores.rs`.

use std::sync::Arc;

use async_trait::async_trait;
use memory_engine_conformance::{SCENARIOS, World, clock, space};
use memory_engine_core::{
    Embedding, EmbeddingSpace, Filter, Hit, MemoryRecordStore, RecordId, RemovalCounts, Result, Scope, Score,
};
use memory_engine_graph::{GraphEntry, GraphQuery, GraphRows, GraphStats, GraphStore, Subgraph, Walk};
use memory_engine_keyword_store::MemoryKeywordStore;
use memory_engine_vector_store::{VectorEntry, VectorQuery, VectorStore};
use parking_lot::Mutex;

/// Vectors in a list.
#[derive(Debug)]
pub(crate) struct ListedVectors(EmbeddingSpace, Mutex<Vec<VectorEntry>>);

#[async_trait]
impl VectorStore for ListedVectors {
    fn space(&self) -> &EmbeddingSpace {
        &self.0
    }

    async fn upsert(&self, scope: &Scope, entries: &[VectorEntry]) -> Result<()> {
        for entry in entries {
            scope.authorize("vector upsert", &entry.record.scope)?;
            self.0.check("vector upsert", &entry.embedding)?;
        }
        let mut list = self.1.lock();
        for new in entries {
            list.retain(|old| (old.record.id, &old.record.scope) != (new.record.id, &new.record.scope));
            list.push(new.clone());
        }
        Ok(())
    }

    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<u64> {
        let is_deleted = |entry: &mut VectorEntry| ids.contains(&entry.record.id) && scope.covers(&entry.record.scope);
        Ok(self.1.lock().extract_if(.., is_deleted).count() as u64)
    }

    async fn search(&self, scope: &Scope, query: &VectorQuery) -> Result<Vec<Hit>> {
        self.0.check("vector search", &query.embedding)?;
        query.filter.as_ref().map_or(Ok(()), Filter::validate)?;
        let list = self.1.lock();
        let in_scope = list.iter().filter(|entry| scope.covers(&entry.record.scope));
        let matching =
            in_scope.filter(|entry| query.filter.as_ref().is_none_or(|filter| filter.matches(&entry.record)));
        let hit = |entry: &VectorEntry| Hit { id: entry.record.id, score: cosine(&entry.embedding, &query.embedding) };
        let mut hits: Vec<Hit> = matching.map(hit).collect();
        hits.sort_by(Hit::best_first);
        hits.truncate(query.limit);
        Ok(hits)
    }
}

fn cosine(a: &Embedding, b: &Embedding) -> Score {
    let dot = |a: &Embedding, b: &Embedding| -> f64 {
        a.values().iter().zip(b.values()).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum()
    };
    Score::new(dot(a, b) / (dot(a, a) * dot(b, b)).sqrt())
}

/// A graph store that lists extractions. The walk is the same for every store.
#[derive(Debug, Default)]
pub(crate) struct ListedGraph(Mutex<Vec<GraphEntry>>);

#[async_trait]
impl GraphStore for ListedGraph {
    async fn upsert(&self, scope: &Scope, entries: &[GraphEntry]) -> Result<()> {
        for entry in entries {
            scope.authorize("graph upsert", &entry.record.scope)?;
            entry.extraction.validate()?;
        }
        let mut list = self.0.lock();
        for new in entries {
            list.retain(|old| (old.record.id, &old.record.scope) != (new.record.id, &new.record.scope));
            if !new.extraction.is_empty() {
                list.push(new.clone());
            }
        }
        Ok(())
    }

    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<RemovalCounts> {
        let is_deleted = |entry: &mut GraphEntry| ids.contains(&entry.record.id) && scope.covers(&entry.record.scope);
        let mut removed = RemovalCounts::default();
        self.0.lock().extract_if(.., is_deleted).for_each(|entry| removed += GraphRows::of(&entry).removal_counts());
        Ok(removed)
    }

    async fn expand(&self, scope: &Scope, query: &GraphQuery) -> Result<Subgraph> {
        query.validate()?;
        let list = self.0.lock();
        let matches = |entry: &&GraphEntry| query.filter.as_ref().is_none_or(|filter| filter.matches(&entry.record));
        let visible: Vec<&GraphEntry> = list.iter().filter(|e| scope.covers(&e.record.scope)).filter(matches).collect();
        let mut owners: Vec<Scope> = visible.iter().map(|entry| entry.record.scope.namespace()).collect();
        owners.sort();
        owners.dedup();
        let parts = owners.iter().map(|owner| {
            let own = visible.iter().filter(|entry| entry.record.scope.namespace() == *owner);
            let rows: Vec<GraphRows> = own.map(|entry| GraphRows::of_with_record_times(entry)).collect();
            Walk::over(owner, query, &rows.iter().collect::<Vec<_>>())
        });
        Ok(Subgraph::merged(parts, query.entities, query.edges))
    }

    async fn stats(&self, scope: &Scope) -> Result<GraphStats> {
        let list = self.0.lock();
        let rows: Vec<GraphRows> = list.iter().filter(|e| scope.covers(&e.record.scope)).map(GraphRows::of).collect();
        let mut names: Vec<_> = rows.iter().flat_map(|rows| &rows.mentions).map(|row| row.entity).collect();
        let edges = rows.iter().flat_map(|rows| &rows.edges);
        let mut edges: Vec<_> = edges.map(|row| (row.source, &row.relation, row.target)).collect();
        names.sort();
        names.dedup();
        edges.sort();
        edges.dedup();
        Ok(GraphStats::new(names.len() as u64, edges.len() as u64, rows.len() as u64))
    }

    async fn clear(&self, scope: &Scope) -> Result<()> {
        self.0.lock().retain(|entry| !scope.covers(&entry.record.scope));
        Ok(())
    }
}

/// A world with both stores.
pub(crate) fn world() -> World {
    let clock = clock();
    let records = MemoryRecordStore::with_clock(clock.clone());
    let vectors = ListedVectors(space(), Mutex::default());
    World::new(Arc::new(records), Arc::new(MemoryKeywordStore::new()), Arc::new(vectors), clock)
        .with_graph(Arc::new(ListedGraph::default()))
}

#[allow(dead_code, reason = "the test includes this file only for its stores")]
fn main() {
    for scenario in SCENARIOS.iter().filter(|scenario| ["vectors", "graph"].contains(&scenario.group)) {
        let world = world();
        if let Some(capability) = scenario.missing(&world) {
            println!("{}: {}: ignored, needs {capability}", scenario.group, scenario.name);
            continue;
        }
        futures::executor::block_on(scenario.run(&world));
        println!("{}: {}", scenario.group, scenario.name);
    }
}
