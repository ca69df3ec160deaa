//! The SQL functions of the checks. Each reads one value as the store does, and returns 0 for a value that the store
//! cannot read.

use memory_engine_core::{Embedding, MultiVector, RecordId, packed_terms};
use memory_engine_sql::rows;
use memory_engine_synonyms::WordPair;
use rusqlite::{
    Connection, Result,
    functions::{Context, FunctionFlags},
};
use serde_json::{Map, Value};

/// A function that reads its arguments and returns true if the store can read them.
type Predicate = fn(&Context<'_>) -> bool;

/// Registers the functions on a connection.
pub(crate) fn define(connection: &Connection) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
    let predicates: [(&str, i32, Predicate); 9] = [
        ("is_text", 1, |context| text(context, 0).is_some()),
        ("is_scope", 5, is_scope),
        ("is_strings", 1, |context| json::<Vec<String>>(context)),
        ("is_ids", 1, |context| json::<Vec<RecordId>>(context)),
        ("is_object", 1, |context| json::<Map<String, Value>>(context)),
        ("is_terms", 2, |context| terms_length(context).is_some()),
        ("is_vector", 1, |context| blob(context, 0).is_some_and(is_vector)),
        ("is_tokens", 1, |context| blob(context, 0).is_some_and(|bytes| MultiVector::from_bytes(bytes).is_ok())),
        ("is_pair", 2, is_pair),
    ];
    for (name, arguments, predicate) in predicates {
        connection.create_scalar_function(name, arguments, flags, move |context| Ok(predicate(context)))?;
    }
    connection.create_scalar_function("terms_length", 2, flags, |context| Ok(terms_length(context)))?;
    connection.create_scalar_function("record_id", 1, flags, |context| {
        let id = blob(context, 0).and_then(|bytes| <[u8; 16]>::try_from(bytes).ok());
        Ok(id.map_or_else(|| "an id that cannot be read".to_owned(), |id| RecordId::from_bytes(id).to_string()))
    })
}

fn text<'c>(context: &'c Context<'_>, argument: usize) -> Option<&'c str> {
    context.get_raw(argument).as_str().ok()
}

fn blob<'c>(context: &'c Context<'_>, argument: usize) -> Option<&'c [u8]> {
    context.get_raw(argument).as_blob().ok()
}

fn json<T: serde::de::DeserializeOwned>(context: &Context<'_>) -> bool {
    text(context, 0).is_some_and(|text| serde_json::from_str::<T>(text).is_ok())
}

fn is_scope(context: &Context<'_>) -> bool {
    let mut names = [""; 5];
    for (argument, name) in names.iter_mut().enumerate() {
        let Some(text) = text(context, argument) else { return false };
        *name = text;
    }
    rows::scope(names).is_ok()
}

fn is_pair(context: &Context<'_>) -> bool {
    let pair = text(context, 0).zip(text(context, 1));
    pair.is_some_and(|(first, second)| WordPair::new(first, second).is_some())
}

/// Returns the number of terms with repetitions; `None` if they cannot be read.
fn terms_length(context: &Context<'_>) -> Option<i64> {
    let (terms, counts) = (text(context, 0)?, blob(context, 1)?);
    let mut length = 0;
    for pair in packed_terms::pairs(terms, counts) {
        length += i64::from(pair.ok()?.1);
    }
    Some(length)
}

fn is_vector(bytes: &[u8]) -> bool {
    let values = bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    Embedding::new(values).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_read_values_as_the_store_does() {
        let connection = Connection::open_in_memory().unwrap();
        define(&connection).unwrap();
        let value = |sql: &str| -> Option<i64> {
            connection.query_row(&format!("SELECT {sql}"), [], |row| row.get(0)).unwrap()
        };
        for (sql, expected) in [
            ("is_text('海鲜')", 1),
            ("is_text(CAST(x'ff' AS TEXT))", 0),
            ("is_scope('default', '林 小', '', '', '')", 1),
            ("is_scope('', 'lin', '', '', '')", 0),
            ("is_strings('[\"a\"]')", 1),
            ("is_strings('[1]')", 0),
            ("is_ids('[\"0190a0b0-0000-7000-8000-000000000000\"]')", 1),
            ("is_ids('[\"lin\"]')", 0),
            ("is_object('{\"a\": [1]}')", 1),
            ("is_object('[]')", 0),
            ("is_terms('a b', x'')", 1),
            ("is_terms('a b', x'01')", 0),
            ("terms_length('a b', x'0203')", 5),
            ("is_vector(x'0000803f')", 1),
            ("is_vector(x'0000c07f')", 0),
            ("is_vector(zeroblob(8))", 0),
            ("is_tokens(x'ff')", 0),
            ("is_pair('docker', '容器')", 1),
            ("is_pair('docker', 'Docker')", 0),
        ] {
            assert_eq!(value(sql), Some(expected), "{sql}");
        }
        assert_eq!(value("terms_length('a b', x'01')"), None);
        let id: String = connection.query_row("SELECT record_id(zeroblob(16))", [], |row| row.get(0)).unwrap();
        assert_eq!(id, "00000000-0000-0000-0000-000000000000");
    }
}
