//! Helpers of tests with real models: paths of models, and golden values.

#![allow(dead_code)]

use std::path::PathBuf;

/// Returns the path of a model in `MEMORY_MODELS_DIR`. Tests that need one are ignored by default; `scripts/test` runs
/// them if the models exist.
pub(crate) fn model_path(name: &str) -> PathBuf {
    let directory = std::env::var_os("MEMORY_MODELS_DIR").map(PathBuf::from);
    let path = directory.map(|directory| directory.join(name)).filter(|path| path.exists());
    path.unwrap_or_else(|| panic!("MEMORY_MODELS_DIR has no {name}; `scripts/get-models DIR` fetches it"))
}

/// A text with the results of the reference.
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
