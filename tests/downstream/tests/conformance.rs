//! The conformance suite on both stores of this crate.

use std::sync::Arc;

use downstream::{audited_records::AuditedRecords, map_vectors::MapVectors};
use memory_engine::store::{MemoryKeywordStore, MemoryRecordStore};
use memory_engine_conformance::{World, clock, space};

fn world() -> World {
    let clock = clock();
    let records = AuditedRecords::new(MemoryRecordStore::with_clock(clock.clone()));
    let vectors = MapVectors::new(space());
    World::new(Arc::new(records), Arc::new(MemoryKeywordStore::new()), Arc::new(vectors), clock)
}

memory_engine_conformance::suite!(block_on = futures::executor::block_on, world = world);
