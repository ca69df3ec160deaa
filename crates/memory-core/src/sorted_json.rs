//! JSON with sorted keys.

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value};

/// Serializes an object with its keys in order, at every level.
///
/// The order of a [`Map`] depends on the feature `preserve_order` of `serde_json`, which any crate of a program may
/// enable. Stores serialize metadata with this type, so that every program writes the same bytes for a record.
#[derive(Debug, Clone, Copy)]
pub struct SortedJson<'a>(pub &'a Map<String, Value>);

impl Serialize for SortedJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut entries: Vec<(&String, &Value)> = self.0.iter().collect();
        entries.sort_unstable_by_key(|(key, _)| *key);
        let mut map = serializer.serialize_map(Some(entries.len()))?;
        for (key, value) in entries {
            map.serialize_entry(key, &SortedValue(value))?;
        }
        map.end()
    }
}

struct SortedValue<'a>(&'a Value);

impl Serialize for SortedValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(map) => SortedJson(map).serialize(serializer),
            Value::Array(items) => serializer.collect_seq(items.iter().map(SortedValue)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => self.0.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_sorted_at_every_level() {
        let written = r#"{"b":1,"a":[{"d":null,"c":"x"},[]],"C":{"z":1.5,"y":true}}"#;
        let map: Map<String, Value> = serde_json::from_str(written).unwrap();
        let sorted = serde_json::to_string(&SortedJson(&map)).unwrap();
        assert_eq!(sorted, r#"{"C":{"y":true,"z":1.5},"a":[{"c":"x","d":null},[]],"b":1}"#);
    }
}
