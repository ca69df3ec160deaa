//! Writes records as a corpus of the Modeled Information Format (MIF 1.0, Container Profile 0.1.0).

use std::fmt::Write as _;

use anyhow::Result;
use futures::TryStreamExt;
use memory_engine::{Field, Filter, Kind, MemoryEngine, Record, Scope, State, Timestamp, Trust};
use memory_engine_import::mif::{EXTENSION, URN_PREFIX};
use serde_json::{Map, Value, json};

use crate::{as_of, line, output};

const CORPUS_CONTEXT: &str = "https://mif-spec.dev/schema/container-context.jsonld";
const MEMORY_CONTEXT: &str = "https://mif-spec.dev/schema/context.jsonld";
const CONTAINER_PROFILE_VERSION: &str = "0.1.0";

/// Passes the lines of the corpus of the active records within `scope`, or of those that were current at a time, to
/// `write`, one line for each record. Returns the number of records. Entries of ledgers are data of an application and
/// are not exported.
pub(crate) async fn write_corpus(
    engine: &MemoryEngine,
    scope: &Scope,
    as_of: Option<Timestamp>,
    mut write: impl FnMut(&str) -> Result<()>,
) -> Result<u64> {
    let bar = output::progress(engine.stats(scope).await?.records, "exporting {wide_bar} {pos}/{len} records {eta}");
    let head = json!({
        "@context": CORPUS_CONTEXT,
        "@type": "MemoryCorpus",
        "containerProfileVersion": CONTAINER_PROFILE_VERSION,
        "records": [],
    });
    let head = head.to_string();
    // The records are written one after another, since all of them may not fit in memory.
    write(head.strip_suffix("]}").unwrap_or(&head))?;
    let active = Filter::eq(Field::State, State::Active.as_str());
    let mut records = as_of::records(engine, scope, as_of).filter(active).stream();
    let mut count = 0;
    while let Some(record) = records.try_next().await? {
        if record.kind.is_ledger() {
            continue;
        }
        let comma = if count == 0 { "" } else { "," };
        write(&format!("{comma}{}", json!({ "kind": "memory", "payload": memory(&record) })))?;
        count += 1;
        bar.set_position(count);
    }
    write("]}")?;
    bar.finish_and_clear();
    Ok(count)
}

/// Returns a record as a memory unit. The extension has the fields of the record that the format does not have.
fn memory(record: &Record) -> Value {
    let concept_type = concept_type(&record.kind);
    let mut memory = json!({
        "@context": MEMORY_CONTEXT,
        "@type": "Concept",
        "@id": format!("{URN_PREFIX}{}", record.id),
        "conceptType": concept_type,
        "content": record.text,
        "created": record.occurred_at,
        "timestamp": record.occurred_at,
        "namespace": format!("_{concept_type}/{}", namespace_part(record.kind.as_str())),
        "temporal": {
            "@type": "TemporalMetadata",
            "recordedAt": record.recorded_at,
            "validFrom": record.valid_from,
            "validUntil": record.valid_until,
        },
        "provenance": provenance(record),
    });
    if !record.tags.is_empty() {
        memory["tags"] = json!(record.tags);
    }
    if !record.entities.is_empty() {
        memory["entities"] = record.entities.iter().map(|name| entity(name)).collect();
    }
    if !record.derived_from.is_empty() {
        let target = |id| json!({ "type": "derived-from", "target": format!("{URN_PREFIX}{id}") });
        memory["relationships"] = record.derived_from.iter().map(target).collect();
    }
    memory["extensions"] = json!({ EXTENSION: extension(record) });
    memory
}

fn concept_type(kind: &Kind) -> &'static str {
    let is_episodic = [Kind::TURN, Kind::CHUNK, Kind::SUMMARY, Kind::KEY_MOMENT, Kind::EVENT].contains(kind);
    if is_episodic { "episodic" } else { "semantic" }
}

/// Returns a name with the characters that the path of a namespace may have.
fn namespace_part(name: &str) -> String {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    name.chars().map(|c| if is_allowed(c) { c } else { '_' }).collect()
}

fn provenance(record: &Record) -> Map<String, Value> {
    let (source_type, trust_level) = match record.trust {
        Trust::User => ("user_explicit", Some("user_stated")),
        Trust::Assistant | Trust::Derived => ("agent_inferred", None),
        Trust::Tool => ("system_generated", None),
        Trust::Import => ("external_import", None),
    };
    let session = record.scope.session().map(|session| format!("conversation:{session}"));
    let fields = [
        ("@type", json!("prov:Entity")),
        ("sourceType", json!(source_type)),
        ("trustLevel", json!(trust_level)),
        ("confidence", json!(record.confidence)),
        ("sourceRef", json!(session)),
        ("agent", json!(record.scope.agent())),
    ];
    fields.into_iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| (name.to_owned(), value)).collect()
}

fn entity(name: &str) -> Value {
    let mut id = "urn:mif:entity:concept:".to_owned();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            id.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(id, "%{byte:02X}");
        }
    }
    json!({ "@type": "EntityReference", "entity": { "@id": id }, "name": name })
}

/// Returns the line of a record in JSON Lines, without the fields that a memory unit has.
fn extension(record: &Record) -> Value {
    let mut line = line::write(record);
    if let Some(keys) = line.as_object_mut() {
        for name in ["id", "text", "time", "tags", "entities", "derived_from", "valid_from", "valid_until"] {
            keys.shift_remove(name);
        }
    }
    line
}
