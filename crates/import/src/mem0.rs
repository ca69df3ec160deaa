//! The export of a mem0 server or of the platform: what `get_all` gives, in the form of any of its versions.

use std::io::Read;

use memory_engine_core::{Kind, Timestamp};
use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};

use crate::{
    error::{ImportError, RowError},
    json_lines::object,
    row::{ImportRows, ImportedTurn, Row, take, time},
};

/// The memories of an export.
#[must_use]
pub struct Mem0Export {
    /// One row for each memory.
    pub rows: ImportRows,
    /// True if the file is one page of several, and names a next one.
    pub is_partial: bool,
}

/// A page of memories: `results` of both dialects, `memories` of the oldest.
#[derive(Deserialize)]
struct Page<'a> {
    #[serde(borrow, alias = "memories")]
    results: Vec<&'a RawValue>,
    next: Option<String>,
}

/// Reads the memories of an export: pages, lists of memories or single memories, one JSON value after another.
///
/// # Errors
/// For a file that is not UTF-8 or not JSON, or holds no memory.
pub fn read(mut input: impl Read) -> Result<Mem0Export, ImportError> {
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes)?;
    let text = String::from_utf8(bytes).map_err(|e| ImportError::NotUtf8 { byte: e.utf8_error().valid_up_to() + 1 })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let (mut rows, mut counted, mut line) = (Vec::new(), 0, 1);
    let mut is_partial = false;
    for document in serde_json::Deserializer::from_str(text).into_iter::<&RawValue>() {
        let document = document.map_err(|e| ImportError::NotJson { line: e.line(), column: e.column() })?;
        let page = memories(document)?;
        is_partial |= page.next.is_some();
        for memory in page.results {
            // Where it stands is where it points to.
            let at = memory.get().as_ptr() as usize - text.as_ptr() as usize;
            line += text[counted..at].matches('\n').count() as u64;
            let taken = (at + memory.get().len() - counted) as u64;
            counted = at;
            let place = format!("line {line}");
            let number = rows.len() as u64 + 1;
            let turns = object(memory.get()).and_then(turn).map(|turn| vec![turn]);
            rows.push(Ok(Row { place, number, bytes: taken, turns }));
        }
    }
    if rows.is_empty() {
        return Err(ImportError::NoMemory);
    }
    Ok(Mem0Export { rows: Box::new(rows.into_iter()), is_partial })
}

fn memories(document: &RawValue) -> Result<Page<'_>, ImportError> {
    if document.get().starts_with('[') {
        return Ok(Page { results: serde_json::from_str(document.get())?, next: None });
    }
    Ok(serde_json::from_str(document.get()).unwrap_or_else(|_| Page { results: vec![document], next: None }))
}

fn turn(mut keys: Map<String, Value>) -> Result<ImportedTurn, RowError> {
    let mut turn = ImportedTurn { seed: Value::Object(keys.clone()).to_string(), ..ImportedTurn::default() };
    let text = take(&mut keys, &["memory", "text", "data"]);
    let Some(text) = text.and_then(|text| text.get("memory").cloned().or(Some(text))) else {
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
        if let Some(value) = take(&mut keys, &[name]) {
            turn.set(key, value);
        }
    }
    let created = take(&mut keys, &["created_at"]);
    let updated = take(&mut keys, &["updated_at"]);
    if let Some(created) = created.as_ref().or(updated.as_ref()) {
        turn.set("time", time(created));
    }
    let mut metadata = match take(&mut keys, &["metadata"]) {
        None => Map::new(),
        Some(Value::Object(metadata)) => metadata,
        Some(_) => return Err(RowError::WrongType { key: "metadata", expected: "object" }),
    };
    // Under the names by which our own mem0 routes show them again.
    let notes = [("mem0.app", "app_id"), ("mem0.expires", "expiration_date"), ("mem0.type", "memory_type")];
    for (key, name) in notes.into_iter().chain([("mem0.immutable", "immutable")]) {
        if let Some(value) = take(&mut keys, &[name]) {
            metadata.insert(key.into(), value);
        }
    }
    if let Some(updated) = updated.filter(|updated| created.as_ref() != Some(updated)) {
        let moment = time(&updated).as_str().and_then(|text| text.parse::<Timestamp>().ok());
        metadata.insert("mem0.updated".into(), moment.map_or(updated, |moment| json!(moment.as_micros())));
    }
    // The hash is that of the text, and a score that of a question.
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
    fn every_form_of_an_export_gives_the_same_memories_with_their_lines() {
        let forms = [
            "{\"results\": [\n {\"id\":\"a\",\"memory\":\"likes tea\"},\n {\"id\":\"b\",\"memory\":\"喜欢茶\"}\n], \"relations\": []}",
            "[\n{\"id\":\"a\",\"memory\":\"likes tea\"},\n{\"id\":\"b\",\"memory\":\"喜欢茶\"}]",
            "\n{\"id\":\"a\",\"memory\":\"likes tea\"}\n{\"id\":\"b\",\"memory\":\"喜欢茶\"}\n",
            "{\"count\":2,\"next\":null,\"previous\":null,\"results\":[\n{\"id\":\"a\",\"memory\":\"likes tea\"},\n{\"id\":\"b\",\"data\":{\"memory\":\"喜欢茶\"}}]}",
        ];
        for form in forms {
            let rows = parsed(form);
            let texts: Vec<_> =
                rows.iter().map(|(place, turns)| (place.as_str(), &turns.as_ref().unwrap()[0].keys["text"])).collect();
            assert_eq!(texts, [("line 2", &json!("likes tea")), ("line 3", &json!("喜欢茶"))], "{form}");
        }
    }

    #[test]
    fn what_a_row_says_goes_where_we_keep_it() {
        let rows = parsed(
            r#"[{"id":"0192aaaa-0000-7000-8000-000000000001","memory":"搬到里斯本了","hash":"x","score":0.3,
            "metadata":{"place":"Lisbon"},"categories":["travel"],"user_id":"lin","agent_id":"kai","run_id":"s1","app_id":"st",
            "created_at":"2026-02-16T20:00:00-07:00","updated_at":"2026-02-17T03:00:01+00:00","expiration_date":null}]"#,
        );
        let keys = &rows[0].1.as_ref().unwrap()[0].keys;
        let expected = json!({"text": "搬到里斯本了", "kind": "note", "id": "0192aaaa-0000-7000-8000-000000000001", "user": "lin",
            "agent": "kai", "session": "s1", "tags": ["travel"], "time": "2026-02-16T20:00:00-07:00",
            "metadata": {"place": "Lisbon", "mem0.app": "st", "mem0.updated": 1_771_297_201_000_000_u64}});
        assert_eq!(Value::Object(keys.clone()), expected);
    }

    #[test]
    fn what_is_no_export_is_refused_with_its_place() {
        let error = |text: &'static str| read(text.as_bytes()).err().unwrap().to_string();
        assert!(error("{\"results\":[\n{]}").contains("line 2"), "{}", error("{\"results\":[\n{]}"));
        assert!(error("[]").contains("no memory"));
        assert!(parsed("[{\"id\":\"a\"}]")[0].1.as_ref().unwrap_err().to_string().contains("no \"memory\""));
    }
}
