//! JSON Lines: turns in the format of this project, or the rows of a table.

use std::io::BufRead;

use serde_json::{Map, Value};

use crate::{
    error::{ImportError, RowError},
    lines::Lines,
    row::{ImportedTurn, Row},
    unique_keys::{REPEATED_KEY, UniqueKeys},
};

/// Maximum number of characters of a key in an error.
const KEY_MAX_CHARS: usize = 60;

/// Reads turns in the JSON Lines format of this project.
pub fn rows(input: impl BufRead) -> impl Iterator<Item = Result<Row, ImportError>> {
    objects(input, |keys, seed, _| Ok(vec![ImportedTurn { keys, seed, vector: None }]))
}

/// Reads lines that are JSON objects. `read` converts an object, its text and its line number to turns.
pub(crate) fn objects(
    input: impl BufRead,
    mut read: impl FnMut(Map<String, Value>, String, u64) -> Result<Vec<ImportedTurn>, RowError>,
) -> impl Iterator<Item = Result<Row, ImportError>> {
    Lines::new(input).map(move |line| {
        let line = line?;
        let number = line.number;
        let turns = line.text.and_then(|text| object(&text).and_then(|keys| read(keys, text, number)));
        Ok(Row { place: format!("line {number}"), number, bytes: line.bytes, turns })
    })
}

/// Parses the JSON object of a line.
///
/// # Errors
/// If the line is not JSON, or not an object, or an object in it has a key twice.
pub fn object(text: &str) -> Result<Map<String, Value>, RowError> {
    let UniqueKeys(value) = serde_json::from_str(text).map_err(|error| json_error(&error))?;
    if let Value::Object(keys) = value { Ok(keys) } else { Err(RowError::NotAnObject) }
}

fn json_error(error: &serde_json::Error) -> RowError {
    let message = error.to_string();
    let Some(key) = message.strip_prefix(REPEATED_KEY).filter(|_| error.is_data()) else {
        return RowError::NotJson { column: error.column() };
    };
    // The position follows the key.
    let key = key.rsplit_once(" at line ").map_or(key, |(key, _)| key);
    RowError::RepeatedKey { key: key.chars().take(KEY_MAX_CHARS).collect() }
}
