//! Fuzz targets of memory-engine. Each is a function of bytes that panics on a fault.
//!
//! `tests/smoke.rs` replays the corpus and mutates it with a fixed seed. `fuzz/fuzz_targets/memory.rs` calls the same
//! functions from libFuzzer; `scripts/fuzz` runs it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "this is test code: a failed expectation is a panic")]

mod caches;
mod filters;
mod imports;
pub mod mutation;
mod replies;
mod requests;
mod runtime;
mod texts;

use std::path::PathBuf;

/// A function that reads input of a user, a client, a file or a model.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// The name, also of the folder of its corpus.
    pub name: &'static str,
    /// Runs one input. Panics on a fault.
    pub run: fn(&[u8]),
    /// Tokens that mutations insert.
    pub tokens: &'static [&'static str],
    /// Number of mutated inputs that the smoke test runs: a few seconds in a debug build.
    pub smoke_executions: u64,
}

/// All targets.
pub const TARGETS: [Target; 11] = [
    Target { name: "analyzer", run: texts::analyzer, tokens: texts::TOKENS, smoke_executions: 1_000 },
    Target { name: "dates", run: texts::dates, tokens: texts::DATE_TOKENS, smoke_executions: 500 },
    Target { name: "facts", run: texts::facts, tokens: texts::TOKENS, smoke_executions: 60 },
    Target { name: "filters", run: filters::filters, tokens: filters::TOKENS, smoke_executions: 2_000 },
    Target { name: "imports", run: imports::imports, tokens: imports::TOKENS, smoke_executions: 1_000 },
    Target { name: "postings_cache", run: caches::postings, tokens: &[], smoke_executions: 5_000 },
    Target { name: "vectors_cache", run: caches::vectors, tokens: &[], smoke_executions: 5_000 },
    Target { name: "requests", run: requests::requests, tokens: requests::TOKENS, smoke_executions: 400 },
    Target { name: "mcp", run: requests::mcp, tokens: requests::MCP_TOKENS, smoke_executions: 400 },
    Target { name: "sse", run: replies::sse, tokens: replies::SSE_TOKENS, smoke_executions: 20_000 },
    Target { name: "replies", run: replies::replies, tokens: replies::TOKENS, smoke_executions: 300 },
];

/// Returns the target of this name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

impl Target {
    /// Returns the folder of the corpus in the repository.
    pub fn corpus_folder(&self) -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../corpus").join(self.name)
    }

    /// Returns the inputs of the corpus, ordered by file name.
    pub fn corpus(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let files = std::fs::read_dir(self.corpus_folder()).unwrap().map(|entry| entry.unwrap().path());
        let mut inputs: Vec<_> = files.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect();
        inputs.sort();
        inputs
    }
}
