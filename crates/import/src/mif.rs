//! Reads the Modeled Information Format (MIF): a corpus (`*.corpus.json`), or memories as JSON-LD.

use std::{collections::BTreeSet, io::Read};

use memory_engine_core::{Kind, RecordId, State, Timestamp};
use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use crate::{
    error::{ImportError, RowError},
    json_lines::object,
    json_text::JsonText,
    row::{ImportRows, ImportedTurn, Row, is_blank},
    validity::set_validity,
};

/// The key of this project's fields in the extensions of a memory. They are those of a line of JSON Lines.
pub const EXTENSION: &str = "memory-engine";
/// The beginning of the identifier of a memory. A UUID follows.
pub const URN_PREFIX: &str = "urn:mif:";

/// A file with many memories.
#[derive(Deserialize)]
struct Corpus<'a> {
    #[serde(borrow)]
    records: Vec<&'a RawValue>,
}

/// A memory, or a reference to a document, in a corpus.
#[derive(Deserialize)]
struct CorpusRecord<'a> {
    kind: String,
    #[serde(borrow)]
    payload: &'a RawValue,
}

/// A memory of a file that has not been read yet.
struct MemoryUnit {
    place: String,
    bytes: u64,
    keys: Result<Map<String, Value>, RowError>,
}

/// Reads the memories of a corpus, of a list, or of single objects, one JSON value after another.
///
/// A memory that this project has exported gets all of its fields back. Of other memories, an episodic one becomes an
/// event, and another one a note; fields without an equivalent become metadata. A memory that another one supersedes,
/// or whose validity has ended, becomes superseded. References to documents are skipped.
///
/// # Errors
/// If the file is not UTF-8, not JSON, or contains no memory.
pub fn read(input: impl Read) -> Result<ImportRows, ImportError> {
    read_at(input, jiff::Timestamp::now().into())
}

fn read_at(input: impl Read, now: Timestamp) -> Result<ImportRows, ImportError> {
    let text = JsonText::read(input)?;
    let mut units: Vec<MemoryUnit> = Vec::new();
    for value in text.documents()?.into_iter().flat_map(elements) {
        let memory = match serde_json::from_str::<CorpusRecord<'_>>(value.get()) {
            Ok(record) if record.kind == "memory" => record.payload,
            Ok(_) => continue,
            Err(_) => value,
        };
        let place = format!("line {}", text.line(value));
        units.push(MemoryUnit { place, bytes: value.get().len() as u64, keys: object(memory.get()) });
    }
    let memories = || units.iter().filter_map(|unit| unit.keys.as_ref().ok());
    if !memories().any(|keys| concept_type(keys).is_some()) {
        return Err(ImportError::NoConcepts);
    }
    let superseded: BTreeSet<RecordId> = memories().flat_map(|keys| related(keys, "supersedes")).collect();
    let rows = units.into_iter().zip(1..).map(|(MemoryUnit { place, bytes, keys }, number)| {
        let turns = keys.and_then(|keys| read_memory(&keys, &superseded, now)).map(|turn| vec![turn]);
        Ok(Row { place, number, bytes, turns })
    });
    let rows: Vec<_> = rows.collect();
    Ok(Box::new(rows.into_iter()))
}

/// Returns the records of a corpus, the elements of a list, or the value itself.
fn elements(document: &RawValue) -> Vec<&RawValue> {
    if document.get().starts_with('[') {
        return serde_json::from_str(document.get()).unwrap_or_default();
    }
    serde_json::from_str::<Corpus<'_>>(document.get()).map_or_else(|_| vec![document], |corpus| corpus.records)
}

/// Returns the type of a memory. The name of its key has changed.
fn concept_type(keys: &Map<String, Value>) -> Option<&str> {
    keys.get("conceptType").or_else(|| keys.get("memoryType"))?.as_str()
}

fn read_memory(
    keys: &Map<String, Value>,
    superseded: &BTreeSet<RecordId>,
    now: Timestamp,
) -> Result<ImportedTurn, RowError> {
    let Some(content) = keys.get("content").and_then(Value::as_str) else {
        return Err(RowError::NoText("it has no \"content\"; every memory of MIF has one"));
    };
    let Some(concept_type) = concept_type(keys) else {
        return Err(RowError::NoText("it has no \"conceptType\"; every memory of MIF has one"));
    };
    let own = keys.get("extensions").and_then(|extensions| extensions.get(EXTENSION)?.as_object());
    let mut turn = ImportedTurn { seed: Value::Object(keys.clone()).to_string(), ..ImportedTurn::default() };
    match own {
        Some(own) => turn.keys.clone_from(own),
        None => {
            turn.set("kind", if concept_type == "episodic" { Kind::EVENT.as_str() } else { Kind::NOTE.as_str() });
            turn.set("metadata", metadata(keys));
        }
    }
    // A memory must not delete another one on import.
    turn.keys.remove("tombstone");
    turn.set("text", content);
    let id = keys.get("@id").and_then(Value::as_str);
    let id = id.and_then(|id| id.strip_prefix(URN_PREFIX)?.parse::<RecordId>().ok());
    turn.set("id", id.map(|id| id.to_string()));
    turn.set("time", keys.get("created").cloned().unwrap_or_default());
    turn.set("tags", keys.get("tags").cloned().unwrap_or_default());
    turn.set("entities", entities(keys));
    let sources: Vec<String> = related(keys, "derived-from").map(|id| id.to_string()).collect();
    turn.set("derived_from", sources);
    let part = |object: &str, name: &str| keys.get(object).and_then(|part| part.get(name)).cloned().unwrap_or_default();
    turn.set("confidence", part("provenance", "confidence"));
    let validity = |name: &str| part("temporal", name);
    set_validity(&mut turn, validity("validFrom"), validity("validUntil"), now);
    if id.is_some_and(|id| superseded.contains(&id)) {
        turn.set("state", State::Superseded.as_str());
    }
    Ok(turn)
}

/// Returns the memories that a memory names in a relationship of this type.
fn related<'k>(keys: &'k Map<String, Value>, kind: &'static str) -> impl Iterator<Item = RecordId> + 'k {
    let relationships = keys.get("relationships").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let of_kind = relationships.iter().filter(move |edge| edge.get("type").and_then(Value::as_str) == Some(kind));
    of_kind.filter_map(|edge| edge.get("target")?.as_str()?.strip_prefix(URN_PREFIX)?.parse().ok())
}

/// Returns the names of the entities.
fn entities(keys: &Map<String, Value>) -> Vec<&str> {
    let entities = keys.get("entities").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let names = entities.iter().filter_map(|entity| {
        let name = entity.get("name").and_then(Value::as_str);
        name.or_else(|| entity.pointer("/entity/@id")?.as_str()?.rsplit(':').next())
    });
    names.collect()
}

/// Returns the fields without an equivalent.
fn metadata(keys: &Map<String, Value>) -> Map<String, Value> {
    let names = ["title", "summary", "namespace", "conceptType", "aliases", "citations", "properties", "extensions"];
    let fields = names.iter().filter_map(|name| Some((name, keys.get(*name).filter(|value| !is_blank(value))?)));
    fields.map(|(name, value)| (format!("mif.{name}"), value.clone())).collect()
}

#[cfg(test)]
mod tests;
