//! An item of the store.

use memory_engine::{Record, Timestamp};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The metadata keys of an item. The value of the first one is its [`name`].
pub(crate) const NAME: &str = "store_item";
const NAMESPACE: &str = "store_namespace";
const KEY: &str = "store_key";
const VALUE: &str = "store_value";

/// A value with a namespace and a key.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct StoreItem {
    /// The labels of the namespace, from the outermost one.
    pub namespace: Vec<String>,
    /// The key, unique within the namespace.
    pub key: String,
    /// The value.
    pub value: Map<String, Value>,
    /// The time of the first write.
    pub created_at: Timestamp,
    /// The time of the latest write.
    pub updated_at: Timestamp,
    /// The score of a search with a query, comparable within the search only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
}

impl StoreItem {
    /// Reads an item from its record.
    pub(crate) fn of(record: &Record) -> Option<Self> {
        let namespace = record.metadata.get(NAMESPACE)?.as_array()?;
        Some(Self {
            namespace: namespace.iter().map(|label| label.as_str().map(str::to_owned)).collect::<Option<_>>()?,
            key: record.metadata.get(KEY)?.as_str()?.to_owned(),
            value: record.metadata.get(VALUE)?.as_object()?.clone(),
            created_at: record.recorded_at,
            updated_at: record.occurred_at,
            score: None,
        })
    }
}

/// Returns the unique name of an item.
pub(crate) fn name(namespace: &[String], key: &str) -> String {
    json!([namespace, key]).to_string()
}

/// Returns the metadata key of a label of the namespace, by which searches are restricted.
pub(crate) fn label_key(level: usize) -> String {
    format!("store_label_{level}")
}

/// Writes an item to its record, except its name. `indexed` are the fields whose texts are searched: all if it is
/// `None`.
pub(crate) fn fill(
    record: &mut Record,
    namespace: &[String],
    key: &str,
    value: &Map<String, Value>,
    indexed: Option<&[String]>,
) {
    for (level, label) in namespace.iter().enumerate() {
        record.metadata.insert(label_key(level), json!(label));
    }
    record.metadata.insert(NAMESPACE.into(), json!(namespace));
    record.metadata.insert(KEY.into(), json!(key));
    record.metadata.insert(VALUE.into(), json!(value));
    let mut texts = Vec::new();
    match indexed {
        None => value.values().for_each(|value| collect_texts(value, &mut texts)),
        Some(fields) => {
            fields.iter().filter_map(|field| field_of(value, field)).for_each(|v| collect_texts(v, &mut texts))
        }
    }
    // A record has a text.
    record.text = if texts.is_empty() { key.to_owned() } else { texts.join("\n") };
}

/// Returns the value at a path such as `person.name`.
fn field_of<'v>(value: &'v Map<String, Value>, path: &str) -> Option<&'v Value> {
    let mut names = path.split('.');
    let first = value.get(names.next()?)?;
    names.try_fold(first, |value, name| value.get(name))
}

/// Collects the texts of a value that are not blank.
fn collect_texts(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) if !text.trim().is_empty() => texts.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| collect_texts(value, texts)),
        Value::Object(fields) => fields.values().for_each(|value| collect_texts(value, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
