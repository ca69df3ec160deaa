//! Reads exports of a mem0 server or of its platform: the responses of `get_all`, in the formats of all versions.

use std::io::Read;

use memory_engine_core::{Kind, Timestamp};
use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};

use crate::{
    error::{ImportError, RowError},
    json_lines::object,
    json_text::JsonText,
    row::{ImportedTurn, Row, SourceRows, convert_time, take_first},
};

/// A page of memories. The oldest format calls them `memories`, later ones `results`.
#[derive(Deserialize)]
struct ExportPage<'a> {
    #[serde(borrow, alias = "memories")]
    results: Vec<&'a RawValue>,
    next: Option<String>,
}

/// Reads the memories of an export: pages, lists of memories or single memories, one JSON value after another.
///
/// # Errors
/// If the file is not UTF-8 or not JSON, or contains no memory.
pub fn read(input: impl Read) -> Result<SourceRows, ImportError> {
    let text = JsonText::read(input)?;
    let mut rows = Vec::new();
    let mut is_partial = false;
    for document in text.documents()? {
        let page = read_page(document)?;
        is_partial |= page.next.is_some();
        for memory in page.results {
            let place = format!("line {}", text.line(memory));
            let number = rows.len() as u64 + 1;
            let turns = object(memory.get()).and_then(read_turn).map(|turn| vec![turn]);
            rows.push(Ok(Row { place, number, bytes: memory.get().len() as u64, turns }));
        }
    }
    if rows.is_empty() {
        return Err(ImportError::NoMemory);
    }
    let notice = is_partial.then_some("the file is one page of several; the page named in \"next\" is not imported");
    Ok(SourceRows { notice, ..SourceRows::new(rows.into_iter()) })
}

/// Reads a page, a list of memories, or a single memory.
fn read_page(document: &RawValue) -> Result<ExportPage<'_>, ImportError> {
    if document.get().starts_with('[') {
        return Ok(ExportPage { results: serde_json::from_str(document.get())?, next: None });
    }
    Ok(serde_json::from_str(document.get()).unwrap_or_else(|_| ExportPage { results: vec![document], next: None }))
}

fn read_turn(mut keys: Map<String, Value>) -> Result<ImportedTurn, RowError> {
    let mut turn = ImportedTurn { seed: Value::Object(keys.clone()).to_string(), ..ImportedTurn::default() };
    // `data` may be an object with the key `memory`.
    let text = take_first(&mut keys, &["memory", "text", "data"]);
    let Some(text) = text.map(|text| text.get("memory").cloned().unwrap_or(text)) else {
        return Err(RowError::NoText("it has no \"memory\""));
    };
    turn.set("text", text);
    turn.set("kind", Kind::NOTE.as_str());
    for (key, name) in [
        ("id", "id"),
        ("user", "user_id"),
        ("agent", "agent_id"),
        ("session", "run_id"),
        ("speaker", "actor_id"),
        ("role", "role"),
        ("tags", "categories"),
        ("entities", "entities"),
    ] {
        if let Some(value) = take_first(&mut keys, &[name]) {
            turn.set(key, value);
        }
    }
    let created = take_first(&mut keys, &["created_at"]);
    let updated = take_first(&mut keys, &["updated_at"]);
    if let Some(time) = created.as_ref().or(updated.as_ref()) {
        turn.set("time", convert_time(time));
    }
    let mut metadata = match take_first(&mut keys, &["metadata"]) {
        None => Map::new(),
        Some(Value::Object(metadata)) => metadata,
        Some(_) => return Err(RowError::WrongType { key: "metadata", expected: "object" }),
    };
    // The mem0 API of the server reads these metadata keys.
    for (key, name) in [
        ("mem0.app", "app_id"),
        ("mem0.expires", "expiration_date"),
        ("mem0.type", "memory_type"),
        ("mem0.immutable", "immutable"),
    ] {
        if let Some(value) = take_first(&mut keys, &[name]) {
            metadata.insert(key.into(), value);
        }
    }
    if let Some(updated) = updated.filter(|updated| created.as_ref() != Some(updated)) {
        let timestamp = convert_time(&updated).as_str().and_then(|text| text.parse::<Timestamp>().ok());
        metadata.insert("mem0.updated".into(), timestamp.map_or(updated, |time| json!(time.as_micros())));
    }
    // A hash is computed from the text, and a score belongs to a query.
    for name in ["hash", "score", "score_details", "score_breakdown"] {
        keys.remove(name);
    }
    metadata.extend(keys.into_iter().filter(|(_, value)| !value.is_null()));
    turn.set("metadata", metadata);
    Ok(turn)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &'static str) -> Vec<(String, Result<Vec<ImportedTurn>, RowError>)> {
        let rows = read(text.as_bytes()).unwrap().rows.map(Result::unwrap);
        rows.map(|row| (row.place, row.turns)).collect()
    }

    #[test]
    fn every_export_format_has_the_same_memories_and_line_numbers() {
        let exports = [
            "{\"results\": [\n {\"id\":\"a\",\"memory\":\"likes tea\"},\n {\"id\":\"b\",\"memory\":\"喜欢茶\"}\n], \
             \"relations\": []}",
            "[\n{\"id\":\"a\",\"memory\":\"likes tea\"},\n{\"id\":\"b\",\"memory\":\"喜欢茶\"}]",
            "\n{\"id\":\"a\",\"memory\":\"likes tea\"}\n{\"id\":\"b\",\"memory\":\"喜欢茶\"}\n",
            "{\"count\":2,\"next\":null,\"previous\":null,\"results\":[\n\
             {\"id\":\"a\",\"memory\":\"likes tea\"},\n{\"id\":\"b\",\"data\":{\"memory\":\"喜欢茶\"}}]}",
        ];
        for export in exports {
            let rows = parsed(export);
            let texts: Vec<_> =
                rows.iter().map(|(place, turns)| (place.as_str(), &turns.as_ref().unwrap()[0].keys["text"])).collect();
            assert_eq!(texts, [("line 2", &json!("likes tea")), ("line 3", &json!("喜欢茶"))], "{export}");
        }
    }

    #[test]
    fn fields_of_a_memory_become_keys_of_the_turn() {
        let rows = parsed(
            r#"[{"id":"0192aaaa-0000-7000-8000-000000000001","memory":"搬到里斯本了","hash":"x","score":0.3,
            "metadata":{"place":"Lisbon"},"categories":["travel"],"user_id":"lin","agent_id":"kai","run_id":"s1",
            "app_id":"st","created_at":"2026-02-16T20:00:00-07:00","updated_at":"2026-02-17T03:00:01+00:00",
            "expiration_date":null}]"#,
        );
        let keys = &rows[0].1.as_ref().unwrap()[0].keys;
        let expected = json!({"text": "搬到里斯本了", "kind": "note", "id": "0192aaaa-0000-7000-8000-000000000001",
            "user": "lin", "agent": "kai", "session": "s1", "tags": ["travel"], "time": "2026-02-16T20:00:00-07:00",
            "metadata": {"place": "Lisbon", "mem0.app": "st", "mem0.updated": 1_771_297_201_000_000_u64}});
        assert_eq!(Value::Object(keys.clone()), expected);
    }

    #[test]
    fn other_files_are_errors_with_a_position() {
        let error = |text: &'static str| read(text.as_bytes()).err().unwrap().to_string();
        assert!(error("{\"results\":[\n{]}").contains("line 2"), "{}", error("{\"results\":[\n{]}"));
        assert!(error("[]").contains("no memory"));
        assert!(parsed("[{\"id\":\"a\"}]")[0].1.as_ref().unwrap_err().to_string().contains("no \"memory\""));
    }
}
