//! A vector store of your own, here over a `HashMap`, with every other store in memory.
//!
//! `cargo run -p memory-engine --example bring_your_own_store`. The crate `memory-engine-conformance` tests such a
//! store.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use memory_engine::{
    MemoryEngine, RecordId, Result, Scope,
    embed::{Embedder, Embedding, EmbeddingSpace, HashEmbedder},
    store::{Hit, Score, Stores, VectorEntry, VectorQuery, VectorStore},
};

/// Vectors by the record and its address.
#[derive(Debug)]
struct MapVectors {
    space: EmbeddingSpace,
    entries: Mutex<HashMap<(Scope, RecordId), VectorEntry>>,
}

impl MapVectors {
    fn new(space: EmbeddingSpace) -> Self {
        Self { space, entries: Mutex::default() }
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<(Scope, RecordId), VectorEntry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn cosine(a: &Embedding, b: &Embedding) -> Score {
    let dot = |a: &Embedding, b: &Embedding| -> f64 {
        a.values().iter().zip(b.values()).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum()
    };
    Score::new(dot(a, b) / (dot(a, a) * dot(b, b)).sqrt())
}

#[async_trait]
impl VectorStore for MapVectors {
    fn space(&self) -> &EmbeddingSpace {
        &self.space
    }

    async fn upsert(&self, scope: &Scope, new: &[VectorEntry]) -> Result<()> {
        for entry in new {
            scope.authorize("vector upsert", &entry.record.scope)?;
            self.space.check("vector upsert", &entry.embedding)?;
        }
        let mut entries = self.entries();
        for entry in new {
            entries.insert((entry.record.scope.clone(), entry.record.id), entry.clone());
        }
        Ok(())
    }

    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<u64> {
        let mut entries = self.entries();
        let before = entries.len();
        entries.retain(|(address, id), _| !(ids.contains(id) && scope.covers(address)));
        Ok((before - entries.len()) as u64)
    }

    async fn search(&self, scope: &Scope, query: &VectorQuery) -> Result<Vec<Hit>> {
        self.space.check("vector search", &query.embedding)?;
        if let Some(filter) = &query.filter {
            filter.validate()?;
        }
        let entries = self.entries();
        let visible = entries.values().filter(|entry| scope.covers(&entry.record.scope));
        let matching = visible.filter(|entry| query.filter.as_ref().is_none_or(|filter| filter.matches(&entry.record)));
        let hit = |entry: &VectorEntry| Hit { id: entry.record.id, score: cosine(&entry.embedding, &query.embedding) };
        let mut hits: Vec<Hit> = matching.map(hit).collect();
        hits.sort_by(Hit::best_first);
        hits.truncate(query.limit);
        Ok(hits)
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let embedder = HashEmbedder::default();
    let space = embedder.space().clone();
    let vectors = Arc::new(MapVectors::new(space.clone()));
    // The other stores are those of `in_memory`.
    let stores = Stores { vectors: vectors.clone(), ..Stores::in_memory(space) };
    let memory = MemoryEngine::builder().stores(stores).embedder(embedder).build().await?;

    let lin = Scope::user("lin")?;
    memory.remember(&lin, "The spare key is with Mo.").await?;
    memory.drain(&lin, |_| ()).await?;
    let found = memory.recall(&lin, "Where is the spare key?").await?;
    for hit in &found.hits {
        let retrievers: Vec<&str> = hit.found_by.iter().map(|hit| hit.retriever.as_str()).collect();
        println!("{} (found by {})", hit.text(), retrievers.join(", "));
    }
    assert_eq!(vectors.entries().len(), 1);
    memory.close().await
}
