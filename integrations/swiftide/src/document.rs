//! Conversion between nodes, records and documents.

use anyhow::{Context, Result};
use memory_engine::{Record, RecordId, Role, Scope, Turn};
use serde_json::{Map, Value, json};
use swiftide_core::{
    document::Document,
    indexing::{Metadata, TextNode},
};

/// The metadata key that marks a stored node. Its value is the part of the document that the node is: the offset and
/// the size of the whole, in bytes.
const NODE_KEY: &str = "swiftide_node";
/// The metadata key of the path, as in other storages.
const PATH_KEY: &str = "path";

/// Returns the note that stores a node. Its id is computed from the path and the chunk, as the id of the node is.
pub(crate) fn to_note(scope: &Scope, node: &TextNode) -> Turn {
    let mut metadata: Map<String, Value> =
        node.metadata.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    metadata.insert(PATH_KEY.into(), json!(node.path.to_string_lossy()));
    metadata.insert(NODE_KEY.into(), json!({"offset": node.offset, "original_size": node.original_size}));
    let id = RecordId::named(scope, &format!("{NODE_KEY} {}", node.id()));
    Turn::note(node.chunk.as_str()).with_id(id).with_metadata(metadata)
}

/// Returns the error of the engine, with the path of the node that it is about.
pub(crate) fn with_path<T>(result: memory_engine::Result<T>, node: &TextNode) -> Result<T> {
    result.with_context(|| format!("cannot store a chunk of {}", node.path.display()))
}

/// Returns the document of a memory. A node has its metadata and path, anything else what the engine knows of it.
pub(crate) fn to_document(record: &Record) -> Document {
    let stored = record.metadata.iter().filter(|(key, _)| *key != NODE_KEY);
    let mut metadata = Metadata::default();
    metadata.extend(stored.map(|(key, value)| (key.clone(), value.clone())));
    metadata.insert("memory_id", record.id.to_string());
    metadata.insert("memory_kind", record.kind.as_str());
    metadata.insert("memory_time", record.occurred_at.to_string());
    if let Some(role) = record.role.as_ref().map(Role::as_str) {
        metadata.insert("memory_role", role);
    }
    if let Some(speaker) = record.speaker.as_deref() {
        metadata.insert("memory_speaker", speaker);
    }
    Document::new(record.text.as_str(), Some(metadata))
}
