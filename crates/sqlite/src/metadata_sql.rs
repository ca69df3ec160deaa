//! The SQL function `metadata_holds`, which compares a value in the metadata of a record.
//!
//! With SQLite's own JSON functions one comparison parses the metadata three times. This function parses them once,
//! keeps only the compared value, and compares it as [`Filter::matches`](memory_engine_core::Filter::matches) does.

use std::{fmt, sync::Arc};

use memory_engine_core::{FieldValue, FilterValue, Op};
use memory_engine_sql::filter::MetadataOperands;
use rusqlite::{Connection, functions::FunctionFlags};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor},
};
use serde_json::Value as Json;

/// A comparison of a metadata value, bound to a statement as JSON.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct MetadataComparison {
    key: String,
    op: Op,
    values: Vec<FilterValue>,
}

impl MetadataComparison {
    /// Returns the comparison of the value under `key` that is true if it is true for at least one operand.
    pub(crate) fn new(key: &str, op: Op, operands: MetadataOperands) -> Self {
        let texts = operands.texts.into_iter().map(FilterValue::Text);
        let numbers = operands.numbers.into_iter().map(FilterValue::Number);
        let bools = operands.bools.into_iter().map(FilterValue::Bool);
        Self { key: key.to_owned(), op, values: texts.chain(numbers).chain(bools).collect() }
    }

    /// Compares the value in this metadata object.
    fn is_satisfied_by(&self, metadata: &str) -> Result<bool, serde_json::Error> {
        // A key contains only letters, digits, '_', '-' and '.', so it is stored verbatim unless it was escaped.
        if !metadata.contains(&self.key) && !metadata.contains('\\') {
            return Ok(false);
        }
        let mut json = Json::Null;
        let mut reader = serde_json::Deserializer::from_str(metadata);
        reader.deserialize_map(ValueReader { key: &self.key, value: &mut json })?;
        let field = if json.is_null() { FieldValue::Missing } else { FieldValue::Json(&json) };
        Ok(self.values.iter().any(|value| field.compares(self.op, value)))
    }
}

/// Registers the function `metadata_holds(metadata, comparison)` on a connection. It never returns NULL.
pub(crate) fn define(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
    connection.create_scalar_function("metadata_holds", 2, flags, |context| {
        type BoxError = Box<dyn std::error::Error + Send + Sync>;
        let comparison: Arc<MetadataComparison> = context.get_or_create_aux(1, |value| {
            Ok::<_, BoxError>(serde_json::from_str::<MetadataComparison>(value.as_str()?)?)
        })?;
        // A record with damaged metadata does not match.
        let metadata = context.get_raw(0).as_str().unwrap_or_default();
        Ok(comparison.is_satisfied_by(metadata).unwrap_or(false))
    })
}

/// Reads the value of one key of an object into `value`, and skips the others.
struct ValueReader<'a> {
    key: &'a str,
    value: &'a mut Json,
}

impl<'de> Visitor<'de> for ValueReader<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the metadata of a record")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(is_match) = map.next_key_seed(KeyMatcher(self.key))? {
            if is_match {
                *self.value = map.next_value()?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

/// Compares a key of an object with this one, without copying it.
struct KeyMatcher<'a>(&'a str);

impl<'de> DeserializeSeed<'de> for KeyMatcher<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeyMatcher<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<bool, E> {
        Ok(key == self.0)
    }
}
