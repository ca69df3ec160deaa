//! Programs that users write against the facade, each with what it has to show.

mod a_chat;
mod d_facts;
mod e_companion;
mod err;
mod f_bulk;
mod first;
mod g_runtime;
mod h_cold;
mod i_traps;
mod stores;
mod tasks;
mod web;
mod zone;

use std::path::PathBuf;

use memory_engine::{MemoryEngine, Result};

/// A folder of its own for each test, and a file in it.
fn database() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("memory.db");
    (folder, path)
}

/// An engine in memory whose jobs run only in `drain`.
async fn quiet() -> Result<MemoryEngine> {
    MemoryEngine::builder().in_memory().background(false).build().await
}

/// Number of turns of the long programs: `DOWNSTREAM_TURNS`, 2000 by default.
fn turns() -> usize {
    std::env::var("DOWNSTREAM_TURNS").ok().and_then(|turns| turns.parse().ok()).unwrap_or(2000)
}
