//! The numbers of a phase.

use std::{collections::BTreeMap, fmt, fs, path::Path};

use anyhow::{Context, Result};
use memory_engine_benches::times::{percentile, rounded};
use serde_json::json;

use crate::Backend;

/// Measurements and errors.
#[derive(Debug)]
pub(crate) struct Report {
    backend: Backend,
    metrics: BTreeMap<String, f64>,
    errors: BTreeMap<String, String>,
}

impl Report {
    pub(crate) fn new(backend: Backend) -> Self {
        Self { backend, metrics: BTreeMap::new(), errors: BTreeMap::new() }
    }

    pub(crate) fn number(&mut self, name: impl Into<String>, value: f64) {
        self.metrics.insert(name.into(), rounded(value));
    }

    pub(crate) fn error(&mut self, name: &str, error: &dyn fmt::Display) {
        self.errors.insert(name.to_owned(), error.to_string());
    }

    /// The 50th, the 95th and the 10th percentile of some times in seconds, in milliseconds.
    pub(crate) fn times(&mut self, name: &str, seconds: &[f64]) {
        for (suffix, part) in [("p50", 0.50), ("p95", 0.95), ("p10", 0.10)] {
            self.number(format!("{name}_{suffix}_ms"), percentile(seconds, part) * 1e3);
        }
    }

    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let (durability, vectors, words) = match self.backend {
            Backend::Sqlite => (
                "fsync (WAL, synchronous=FULL) before a call returns",
                "no graph; exact below a size, above it int8 and f32 behind a first look: defaults",
                "BM25 over the engine's own words and character pairs of the raw text",
            ),
            Backend::Postgres => (
                "commit (the server's synchronous_commit) before a call returns",
                "pgvector, as the engine lays it out: defaults",
                "BM25 over the engine's own words and character pairs of the raw text",
            ),
        };
        let report = json!({
            "engine": "memory-engine", "version": env!("CARGO_PKG_VERSION"), "durability": durability,
            "vector_kind": vectors, "keyword_kind": words, "metrics": self.metrics, "errors": self.errors,
        });
        fs::write(path, format!("{report:#}\n")).with_context(|| format!("{} cannot be written", path.display()))
    }
}
