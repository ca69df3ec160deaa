//! Documents: what an index stores and returns.

use memory_engine::{Record, RecordId, Result, Role, Scope, Turn};
use rig_core::vector_store::VectorStoreError;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

/// The metadata key that marks an inserted document: `true` if its fields are the other metadata, a list with the
/// document if it is no JSON object.
pub(crate) const DOCUMENT_KEY: &str = "rig_document";
/// The beginning of metadata keys that belong to this crate.
const OWN_KEYS: &str = "rig_";

/// A memory as a document: the type of what [`EngineVectorIndex`](crate::EngineVectorIndex) returns for messages, notes
/// and facts. An inserted document has its own type instead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MemoryDocument {
    /// The text.
    pub text: String,
    /// The kind: `turn`, `note`, `fact` and so on.
    pub kind: String,
    /// The role of the speaker, such as `user`, if it is a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The name of the speaker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speaker: Option<String>,
    /// The time at which it happened, in RFC 3339.
    pub occurred_at: String,
    /// The metadata.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

impl From<&Record> for MemoryDocument {
    fn from(record: &Record) -> Self {
        let metadata = record.metadata.iter().filter(|(key, _)| !key.starts_with(OWN_KEYS));
        Self {
            text: record.text.clone(),
            kind: record.kind.as_str().to_owned(),
            role: record.role.as_ref().map(Role::as_str).map(str::to_owned),
            speaker: record.speaker.clone(),
            occurred_at: record.occurred_at.to_string(),
            metadata: metadata.map(|(key, value)| (key.clone(), value.clone())).collect(),
        }
    }
}

/// Returns the note that stores a document with this text.
///
/// A document with a text or a number as its field `id` replaces the stored one with the same id. Otherwise one with
/// the same contents does.
pub(crate) fn to_note(scope: &Scope, document: Value, text: String) -> Turn {
    let name = match document.get("id") {
        Some(id @ (Value::String(_) | Value::Number(_))) => format!("{DOCUMENT_KEY} id {id}"),
        _ => format!("{DOCUMENT_KEY} {document}"),
    };
    let metadata = match document {
        Value::Object(mut fields) => {
            fields.insert(DOCUMENT_KEY.into(), json!(true));
            fields
        }
        value @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            Map::from_iter([(DOCUMENT_KEY.into(), json!([value]))])
        }
    };
    Turn::note(text).with_id(RecordId::named(scope, &name)).with_metadata(metadata)
}

/// Returns the document of a record as the type that the caller asked for.
pub(crate) fn from_record<T: DeserializeOwned>(record: &Record) -> Result<T, VectorStoreError> {
    let document = match record.metadata.get(DOCUMENT_KEY) {
        Some(Value::Array(list)) => list.first().cloned().unwrap_or_default(),
        Some(_) => Value::Object(record.metadata.clone().into_iter().filter(|(key, _)| key != DOCUMENT_KEY).collect()),
        None => serde_json::to_value(MemoryDocument::from(record))?,
    };
    serde_json::from_value(document).map_err(|e| wrong_type(record, &e))
}

fn wrong_type(record: &Record, error: &serde_json::Error) -> VectorStoreError {
    let (id, kind) = (record.id, record.kind.as_str());
    let message = match record.metadata.contains_key(DOCUMENT_KEY) {
        true => format!("document {id} is not of the requested type: {error}; ask for serde_json::Value to see it"),
        false => format!(
            "memory {id} of the kind {kind} is not of the requested type: {error}; ask for MemoryDocument, or search \
             inserted documents alone with EngineVectorIndex::only_documents"
        ),
    };
    VectorStoreError::DatastoreError(message.into())
}
