//! JSON Lines: turns in the format of this project, or the rows of a table.

use std::io::BufRead;

use serde_json::{Map, Value};

use crate::{
    error::{ImportError, RowError},
    lines::Lines,
    row::{ImportedTurn, Row},
};

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
/// If the line is not JSON, or not an object.
pub fn object(text: &str) -> Result<Map<String, Value>, RowError> {
    let value: Value = serde_json::from_str(text).map_err(|e| RowError::NotJson { column: e.column() })?;
    if let Value::Object(keys) = value { Ok(keys) } else { Err(RowError::NotAnObject) }
}
