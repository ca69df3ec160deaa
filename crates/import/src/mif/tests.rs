use serde_json::{Value, json};

use super::*;

const ID: &str = "0199aaaa-0000-7000-8000-000000000001";
const OLD: &str = "0199aaaa-0000-7000-8000-000000000002";

fn rows_of(text: &str) -> Vec<(String, Result<Vec<Value>, String>)> {
    let now = "2026-03-01T00:00:00Z".parse().unwrap();
    let turns = |row: Row| {
        let turns = row.turns.map(|turns| turns.into_iter().map(|turn| Value::Object(turn.keys)).collect());
        (row.place, turns.map_err(|error| error.to_string()))
    };
    read_at(text.as_bytes(), now).unwrap().map(|row| turns(row.unwrap())).collect()
}

fn turn(memory: &Value) -> Value {
    rows_of(&memory.to_string()).remove(0).1.unwrap().remove(0)
}

fn memory(id: &str, more: &Value) -> Value {
    let mut memory = json!({"@context": "https://mif-spec.dev/schema/context.jsonld", "@type": "Memory",
        "@id": format!("urn:mif:{id}"), "conceptType": "semantic", "content": "喜欢深色模式",
        "created": "2026-02-01T09:15:00Z"});
    memory.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    memory
}

#[test]
fn memories_of_other_programs_become_notes_and_events() {
    let entity = |name: Value, id: &str| json!({"@type": "EntityReference", "entity": {"@id": id}, "name": name});
    let more = json!({"tags": ["ui"], "title": "Dark mode", "namespace": "_semantic/alice",
        "entities": [entity(json!("Lin"), "urn:mif:entity:person:lin"),
            entity(Value::Null, "urn:mif:entity:concept:ui")],
        "relationships": [{"type": "derived-from", "target": format!("urn:mif:{OLD}")},
            {"type": "derived-from", "target": "/semantic/a.md"}],
        "provenance": {"confidence": 0.5}, "temporal": {"validFrom": "2026-01-01T00:00:00Z", "validUntil": null},
        "extensions": {"mem0": {"user_id": "alice"}}});
    let expected = json!({"text": "喜欢深色模式", "kind": "note", "id": ID, "time": "2026-02-01T09:15:00Z", "tags": ["ui"],
        "entities": ["Lin", "ui"], "derived_from": [OLD], "confidence": 0.5, "valid_from": "2026-01-01T00:00:00Z",
        "metadata": {"mif.title": "Dark mode", "mif.namespace": "_semantic/alice", "mif.conceptType": "semantic",
            "mif.extensions": {"mem0": {"user_id": "alice"}}}});
    assert_eq!(turn(&memory(ID, &more)), expected);
    assert_eq!(turn(&memory(ID, &json!({"conceptType": "episodic"})))["kind"], "event");
}

#[test]
fn exported_memories_get_their_fields_back() {
    let own = json!({"kind": "turn", "user": "lin", "role": "user", "metadata": {"a": 1}, "tombstone": {}});
    let more = json!({"extensions": {"memory-engine": own}});
    let expected = json!({"text": "喜欢深色模式", "kind": "turn", "id": ID, "time": "2026-02-01T09:15:00Z", "user": "lin",
        "role": "user", "metadata": {"a": 1}, "entities": [], "derived_from": []});
    assert_eq!(turn(&memory(ID, &more)), expected);
}

#[test]
fn a_corpus_is_read_record_by_record() {
    let supersedes = json!({"relationships": [{"type": "supersedes", "target": format!("urn:mif:{OLD}")}]});
    let ended = json!({"temporal": {"validUntil": "2026-02-28T00:00:00Z"}});
    let record = |payload: Value| json!({"kind": "memory", "payload": payload}).to_string();
    let document = json!({"kind": "document", "payload": {"@type": "DocumentReference", "url": "https://example.com"}});
    let records = [
        record(memory(ID, &supersedes)),
        record(memory(OLD, &json!({}))),
        document.to_string(),
        record(memory("0199aaaa-0000-7000-8000-000000000003", &ended)),
        record(json!({"@id": "x", "content": "no type"})),
        record(json!({"conceptType": "semantic"})),
    ];
    let rows = rows_of(&format!("{{\"@type\": \"MemoryCorpus\", \"records\": [\n{}\n]}}", records.join(",\n")));
    let places: Vec<&str> = rows.iter().map(|(place, _)| place.as_str()).collect();
    assert_eq!(places, ["line 2", "line 3", "line 5", "line 6", "line 7"]);
    let state = |row: usize| rows[row].1.as_ref().unwrap()[0].get("state").cloned();
    assert_eq!([state(0), state(1), state(2)], [None, Some(json!("superseded")), Some(json!("superseded"))]);
    assert!(rows[3].1.as_ref().unwrap_err().contains("no \"conceptType\""));
    assert!(rows[4].1.as_ref().unwrap_err().contains("no \"content\""));
}

#[test]
fn other_files_are_errors() {
    let error = |text: &str| read(text.as_bytes()).err().unwrap().to_string();
    assert!(error("{\"records\": [\n}").starts_with("line 2"), "{}", error("{\"records\": [\n}"));
    for text in ["", "{}", "[]", "{\"records\": []}", "[{\"content\": \"a\"}]", "{\"records\": 7}"] {
        assert!(error(text).contains("no memory of MIF"), "{text}");
    }
}
