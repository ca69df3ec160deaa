//! JSON Lines: turns in the format of this project, or the rows of a table.

use std::io::BufRead;

use memory_engine_intake::without_lone_surrogates;
use serde_json::{Map, Value};

use crate::{
    error::{ImportError, RowError},
    json_array::{Element, JsonArray},
    lines::Lines,
    row::{ImportedTurn, Row},
    unique_keys::{REPEATED_KEY, UniqueKeys},
};

/// Maximum number of characters of a key in an error.
const KEY_MAX_CHARS: usize = 60;

/// Reads turns in the JSON Lines format of this project, or a JSON array of such objects.
pub fn rows(mut input: impl BufRead) -> impl Iterator<Item = Result<Row, ImportError>> {
    let is_array = input.fill_buf().is_ok_and(|start| {
        let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
        start.trim_ascii_start().first() == Some(&b'[')
    });
    let turn = |keys, seed| vec![ImportedTurn { keys, seed, vector: None }];
    let (array, lines) = if is_array { (Some(input), None) } else { (None, Some(input)) };
    let elements = array.into_iter().flat_map(JsonArray::new).zip(1..).map(move |(element, number)| {
        let Element { text, bytes } = element?;
        let turns = text.and_then(|text| Ok(turn(object(&text)?, text)));
        Ok(Row { place: format!("item {number}"), number, bytes, turns })
    });
    let lines = lines.into_iter().flat_map(move |input| objects(input, move |keys, seed, _| Ok(turn(keys, seed))));
    elements.chain(lines)
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
    let UniqueKeys(value) = serde_json::from_str(&without_lone_surrogates(text)).map_err(|error| json_error(&error))?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_of_turns_is_read_as_a_whole() {
        for file in [
            "[\n{\"user\":\"lin\",\"text\":\"一\"},\n{\"user\":\"lin\",\"text\":\"two\"}\n]\n",
            "\u{feff}[{\"text\":\"一\"},{\"text\":\"two\"}]",
            "[\n  {\n    \"text\": \"一\"\n  },\n  {\n    \"text\": \"two\"\n  }\n]",
            "{\"text\":\"一\"}\n{\"text\":\"two\"}",
        ] {
            let turns = rows(file.as_bytes()).flat_map(|row| row.unwrap().turns.unwrap());
            let texts: Vec<Value> = turns.map(|turn| turn.keys["text"].clone()).collect();
            assert_eq!(texts, ["一", "two"], "{file}");
        }
    }

    #[test]
    fn half_of_a_surrogate_pair_is_replaced() {
        let read: Vec<Row> = rows("{\"text\":\"a \\ud83d\"}".as_bytes()).map(Result::unwrap).collect();
        assert_eq!(read[0].turns.as_ref().unwrap()[0].keys["text"], "a \u{fffd}");
    }
}
