//! Reads the JSON Lines files of `memory eval`.

use std::{fs::File, io::BufReader, path::Path};

use anyhow::{Context, Result};
use memory_engine_import::Lines;
use serde::de::DeserializeOwned;

/// Reads an object from each line of a file. An error names the line.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let file = File::open(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let mut objects = Vec::new();
    for line in Lines::new(BufReader::new(file)) {
        let line = line?;
        let location = || format!("{}: line {}", path.display(), line.number);
        let text = line.text.as_ref().map_err(|e| anyhow::anyhow!("{}: {e}", location()))?;
        objects.push(serde_json::from_str(text).with_context(location)?);
    }
    Ok(objects)
}
