//! Texts of others, from JSON Lines.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// Returns the values of `key` in the lines of the files.
pub(crate) fn read(files: &[PathBuf], key: &str) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    for file in files {
        let lines = std::fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))?;
        for line in lines.lines().filter(|line| !line.trim().is_empty()) {
            let line: Value = serde_json::from_str(line).with_context(|| format!("{}: no JSON", file.display()))?;
            texts.extend(line[key].as_str().map(str::to_owned));
        }
    }
    ensure!(!texts.is_empty(), "none of the files has a line with \"{key}\"");
    Ok(texts)
}

/// Returns this many texts, evenly spread, in order; repeated if there are too few.
pub(crate) fn spread(texts: &[String], count: usize) -> Vec<String> {
    let rounds = count.div_ceil(texts.len()).max(1);
    let place = |n: usize| n * rounds * texts.len() / count % texts.len();
    (0..count).map(|n| texts[place(n)].clone()).collect()
}
