//! Runs the suite on the in-memory stores.

use std::sync::Arc;

use memory_engine_conformance::{World, clock, space};
use memory_engine_core::MemoryRecordStore;
use memory_engine_graph::MemoryGraphStore;
use memory_engine_keyword_store::MemoryKeywordStore;
use memory_engine_synonyms::MemorySynonymStore;
use memory_engine_vector_store::MemoryVectorStore;

fn memory() -> World {
    let clock = clock();
    let records = MemoryRecordStore::with_clock(clock.clone());
    let (keywords, vectors) = (MemoryKeywordStore::new(), MemoryVectorStore::new(space()));
    World::new(Arc::new(records), Arc::new(keywords), Arc::new(vectors), clock)
        .with_synonyms(Arc::new(MemorySynonymStore::new()))
        .with_graph(Arc::new(MemoryGraphStore::new()))
}

memory_engine_conformance::suite!(block_on = futures::executor::block_on, world = memory);
