//! Reads the JSON files of a model directory.

use std::{fs, path::Path};

use serde_json::Value;

use crate::error::ModelError;

/// Reads a JSON file of at most `max_bytes`. Returns `None` if it does not exist.
pub(super) fn read_json(directory: &Path, name: &str, max_bytes: u64) -> Result<Option<Value>, ModelError> {
    let path = directory.join(name);
    let Ok(metadata) = fs::metadata(&path) else { return Ok(None) };
    let length = metadata.len();
    if length > max_bytes {
        return Err(ModelError::corrupt(format!("{name} has {length} bytes; at most {max_bytes} are allowed")));
    }
    let bytes = fs::read(&path).map_err(|error| ModelError::from(error).in_context(name))?;
    serde_json::from_slice(&bytes).map(Some).map_err(|error| ModelError::corrupt(format!("{name}: {error}")))
}

/// Reads a JSON file that must exist.
pub(super) fn require_json(directory: &Path, name: &str, max_bytes: u64) -> Result<Value, ModelError> {
    let missing = || ModelError::not_found(format!("the directory does not contain {name}"));
    read_json(directory, name, max_bytes)?.ok_or_else(missing)
}
