//! Runs the conformance suite of the store contracts on encrypted files.
#![allow(clippy::unwrap_used, clippy::panic, reason = "this is test code: a failed expectation is a panic")]

use std::sync::{Arc, LazyLock};

use memory_engine_conformance::{World, clock, space};
use memory_engine_sqlite::{EncryptionKey, SqliteOptions, SqliteStore, StoreOptions};
use tokio::runtime::{Builder, Runtime};

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Builder::new_current_thread().build().unwrap());

fn block_on<F: Future>(future: F) -> F::Output {
    RUNTIME.block_on(future)
}

fn world() -> World {
    let directory = tempfile::tempdir().unwrap();
    let clock = clock();
    let options = StoreOptions::new(space(), "conformance").with_clock(clock.clone());
    let encrypted = SqliteOptions::default().with_encryption_key(EncryptionKey::new([7; 32]));
    let path = directory.path().join("memory.db");
    let store = Arc::new(block_on(SqliteStore::open_with(path, options, encrypted)).unwrap());
    World::new(store.clone(), store.clone(), store.clone(), clock)
        .with_synonyms(store.clone())
        .with_graph(store)
        .in_one_database()
        .guarded_by(directory)
}

memory_engine_conformance::suite!(block_on = block_on, world = world);
