//! The items of a persisted Chroma directory.

use std::{iter, path::Path};

use memory_engine_core::{Kind, RecordId};
use serde_json::Value;

use super::reader::{ChromaCollection, ChromaItem, ChromaReader};
use crate::{
    error::{ImportError, RowError},
    row::{ImportRows, ImportedTurn, Row, take, time, whole},
};

/// Number of items that are read at once.
const PAGE: usize = 500;
/// Metadata keys in which programs store a text that is not in the document; mem0 uses the first.
const TEXT: &[&str] = &["data", "text", "content"];
/// The metadata keys of programs for fields of a record.
const KEYS: &[(&str, &[&str])] = &[
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

/// Reads the items of all collections, or of the collection `only`. Returns their number as well.
///
/// # Errors
/// For a directory that is not Chroma's, cannot be read, or has no such collection.
pub fn rows(path: &Path, only: Option<&str>, with_vectors: bool) -> Result<(ImportRows, u64), ImportError> {
    let reader = ChromaReader::open(path)?.with_embeddings(with_vectors);
    let all = reader.collections()?;
    let names = all.iter().map(|collection| collection.name.as_str()).collect::<Vec<_>>().join(", ");
    let chosen: Vec<_> = all.iter().filter(|c| only.is_none_or(|name| c.name == name)).cloned().collect();
    if chosen.is_empty() {
        return Err(match only {
            Some(name) => ImportError::UnknownCollection { name: name.to_owned(), known: names },
            None => ImportError::NoCollections(path.to_owned()),
        });
    }
    let total = chosen.iter().map(|collection| collection.items).sum();
    let mut collections = chosen.into_iter().peekable();
    let (mut after, mut number) = (None, 0);
    let pages = iter::from_fn(move || {
        loop {
            let collection = collections.peek()?;
            let page = match reader.page(collection, after, PAGE) {
                Ok(page) => page,
                Err(e) => return Some(vec![Err(e.into())]),
            };
            let Some(last) = page.last() else {
                (after, _) = (None, collections.next());
                continue;
            };
            after = Some(last.position);
            let rows = page.into_iter().map(|item| {
                number += 1;
                let place = format!("collection {}, item {}", collection.name, item.id);
                Ok(Row { place, number, bytes: 1, turns: turn(collection, item).map(|turn| vec![turn]) })
            });
            return Some(rows.collect());
        }
    });
    Ok((Box::new(pages.flatten()), total))
}

fn turn(collection: &ChromaCollection, item: ChromaItem) -> Result<ImportedTurn, RowError> {
    let mut metadata = item.metadata;
    let text = match item.document.filter(|text| !text.trim().is_empty()) {
        Some(text) => Value::String(text),
        None => take(&mut metadata, TEXT).ok_or(RowError::NoText(
            "it has no document, and no text in its metadata (\"data\", \"text\" or \"content\")",
        ))?,
    };
    let mut turn = ImportedTurn { vector: item.embedding, ..ImportedTurn::default() };
    turn.set("text", text);
    turn.set("id", format!("{}/{}", collection.name, item.id));
    if item.id.parse::<RecordId>().is_ok() {
        turn.set("id", item.id.as_str());
    }
    turn.set("message_id", item.id);
    for (key, names) in KEYS {
        if let Some(value) = take(&mut metadata, names) {
            turn.set(
                key,
                match *key {
                    "time" => time(&value),
                    "round" => whole(&value).map_or(value, Value::from),
                    _ => value,
                },
            );
        }
    }
    if let Some(time) = item.created_at {
        turn.set_if_missing("time", time.to_string());
    }
    // An item with a role is a turn. The speaker of other items is unknown.
    let kind = if turn.keys.contains_key("role") { Kind::TURN } else { Kind::NOTE };
    turn.set(
        "kind",
        kind_of(take(&mut metadata, &["kind"]).or_else(|| metadata.get("type").cloned())).unwrap_or(kind).as_str(),
    );
    metadata.insert("collection".into(), collection.name.as_str().into());
    turn.set("metadata", metadata);
    Ok(turn)
}

/// A kind of ours, where a program names one.
fn kind_of(name: Option<Value>) -> Option<Kind> {
    let name = name?;
    let known = [Kind::TURN, Kind::SUMMARY, Kind::FACT, Kind::EVENT, Kind::NOTE];
    known.into_iter().find(|kind| name.as_str() == Some(kind.as_str()))
}
