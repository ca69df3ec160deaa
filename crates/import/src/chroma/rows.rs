//! Converts the items of a Chroma directory to turns.

use std::{iter, path::Path};

use memory_engine_core::{Kind, RecordId};
use serde_json::Value;

use super::reader::{ChromaCollection, ChromaItem, ChromaReader};
use crate::{
    error::{ImportError, RowError},
    row::{ImportRows, ImportedTurn, Row, convert_time, parse_integer, take_first},
};

/// Number of items that are read at once.
const PAGE_ITEMS: usize = 500;
/// Metadata keys in which programs store the text if there is no document. mem0 uses the first.
const TEXT_KEYS: &[&str] = &["data", "text", "content"];
/// Each key of a turn with the metadata keys that programs use for it.
const KEY_ALIASES: &[(&str, &[&str])] = &[
    ("user", &["user_id", "user"]),
    ("agent", &["agent_id", "agent", "character"]),
    ("session", &["session_id", "run_id", "conversation_id", "session"]),
    ("role", &["role"]),
    ("speaker", &["speaker", "actor_id"]),
    ("scene", &["scene_type", "scene"]),
    ("topic", &["topic"]),
    ("emotion", &["emotion"]),
    ("entities", &["entities"]),
    ("tags", &["tags", "categories"]),
    ("round", &["round_number", "round_num", "round"]),
    ("time", &["timestamp", "created_at", "time", "date"]),
];

/// Reads the items of all collections, or of the collection `only`. Returns the rows and the number of items.
///
/// # Errors
/// If the directory is not a Chroma directory, cannot be read, or does not contain the collection.
pub fn rows(path: &Path, only: Option<&str>, with_vectors: bool) -> Result<(ImportRows, u64), ImportError> {
    let reader = ChromaReader::open(path)?.with_embeddings(with_vectors);
    let all = reader.collections()?;
    let names = all.iter().map(|collection| collection.name.as_str()).collect::<Vec<_>>().join(", ");
    let is_selected = |collection: &&ChromaCollection| only.is_none_or(|name| collection.name == name);
    let selected: Vec<ChromaCollection> = all.iter().filter(is_selected).cloned().collect();
    if selected.is_empty() {
        return Err(match only {
            Some(name) => ImportError::UnknownCollection { name: name.to_owned(), known: names },
            None => ImportError::NoCollections(path.to_owned()),
        });
    }
    let total = selected.iter().map(|collection| collection.items).sum();
    let mut collections = selected.into_iter().peekable();
    let mut after = None;
    let mut number = 0;
    let pages = iter::from_fn(move || {
        loop {
            let collection = collections.peek()?;
            let page = match reader.page(collection, after, PAGE_ITEMS) {
                Ok(page) => page,
                Err(e) => return Some(vec![Err(e.into())]),
            };
            let Some(last) = page.last() else {
                after = None;
                collections.next();
                continue;
            };
            after = Some(last.position);
            let rows = page.into_iter().map(|item| {
                number += 1;
                let place = format!("collection {}, item {}", collection.name, item.id);
                Ok(Row { place, number, bytes: 1, turns: read_turn(collection, item).map(|turn| vec![turn]) })
            });
            return Some(rows.collect());
        }
    });
    Ok((Box::new(pages.flatten()), total))
}

fn read_turn(collection: &ChromaCollection, item: ChromaItem) -> Result<ImportedTurn, RowError> {
    let mut metadata = item.metadata;
    let text = match item.document.filter(|text| !text.trim().is_empty()) {
        Some(text) => Value::String(text),
        None => take_first(&mut metadata, TEXT_KEYS).ok_or(RowError::NoText(
            "it has no document, and no text in its metadata (\"data\", \"text\" or \"content\")",
        ))?,
    };
    let mut turn = ImportedTurn { vector: item.embedding, ..ImportedTurn::default() };
    turn.set("text", text);
    // A UUID is the id of the record; any other id is unique within its collection only.
    let is_uuid = item.id.parse::<RecordId>().is_ok();
    turn.set("id", if is_uuid { item.id.clone() } else { format!("{}/{}", collection.name, item.id) });
    turn.set("message_id", item.id);
    for (key, aliases) in KEY_ALIASES {
        let Some(value) = take_first(&mut metadata, aliases) else { continue };
        let value = match *key {
            "time" => convert_time(&value),
            "round" => parse_integer(&value).map_or(value, Value::from),
            _ => value,
        };
        turn.set(key, value);
    }
    if let Some(time) = item.created_at {
        turn.set_if_missing("time", time.to_string());
    }
    // An item with a role is a turn. The speaker of other items is unknown.
    let default_kind = if turn.keys.contains_key("role") { Kind::TURN } else { Kind::NOTE };
    let kind_name = take_first(&mut metadata, &["kind"]).or_else(|| metadata.get("type").cloned());
    let kind = kind_name.as_ref().and_then(Value::as_str).and_then(parse_kind).unwrap_or(default_kind);
    turn.set("kind", kind.as_str());
    metadata.insert("collection".into(), collection.name.as_str().into());
    turn.set("metadata", metadata);
    Ok(turn)
}

/// Returns the kind with this name, if imports may have it.
fn parse_kind(name: &str) -> Option<Kind> {
    let importable = [Kind::TURN, Kind::SUMMARY, Kind::FACT, Kind::EVENT, Kind::NOTE];
    importable.into_iter().find(|kind| kind.as_str() == name)
}
