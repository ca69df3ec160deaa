//! What the tests on real models share: finding them, and reading golden values.

#![allow(dead_code)]

use std::io::Write;
use std::path::PathBuf;

/// A model's path below `MEMORY_MODELS_DIR`; `None`, with a word on standard error, when it is not
/// there and need not be.
pub(crate) fn model_path(name: &str) -> Option<PathBuf> {
    let directory = std::env::var_os("MEMORY_MODELS_DIR").map(PathBuf::from);
    let path = directory.map(|directory| directory.join(name)).filter(|path| path.exists());
    if path.is_none() {
        let required = std::env::var_os("REQUIRE_MODELS").is_some_and(|value| value == "1");
        assert!(!required, "REQUIRE_MODELS=1, but MEMORY_MODELS_DIR has no {name}");
        let test = std::thread::current().name().unwrap_or("a test").to_owned();
        // Not eprintln!, which the test harness would swallow.
        let _ = writeln!(std::io::stderr(), "SKIPPED {test}: MEMORY_MODELS_DIR has no {name}");
    }
    path
}

/// One text with what the reference makes of it.
pub(crate) struct Golden {
    /// The text, prefix included.
    pub(crate) text: String,
    /// Its ids, special tokens included.
    pub(crate) ids: Vec<u32>,
    /// Its vector, rounded to five digits.
    pub(crate) vector: Vec<f32>,
}

/// Reads golden values: three lines each, the text, the ids and the vector.
pub(crate) fn goldens(text: &str) -> Vec<Golden> {
    let lines: Vec<&str> = text.lines().collect();
    let golden = |lines: &[&str]| Golden {
        text: lines[0].to_owned(),
        ids: lines[1].split(' ').map(|id| id.parse().expect("an id")).collect(),
        vector: lines[2].split(' ').map(|value| value.parse().expect("a value")).collect(),
    };
    lines.chunks_exact(3).map(golden).collect()
}

/// The dot product.
pub(crate) fn cosine(left: &[f32], right: &[f32]) -> f32 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}
