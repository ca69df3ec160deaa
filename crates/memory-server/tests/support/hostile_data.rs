//! Hostile texts in every field of a record that a page shows.

use std::{fs, path::Path};

use memory_engine::{
    Kind, MemoryEngine, PutMode, Record, RecordId, Role, Scope, Trust,
    enrichment::ExtractedFact,
    graph::{EntityKind, Extraction, GraphEntry, Mention, Relation},
    retention::RecordPatch,
};
use serde::Deserialize;
use serde_json::json;

/// The user with the hostile records.
const MALLORY: &str = "mallory";
/// Length of a line without a space, in characters.
const LONG_LINE_CHARS: usize = 200_000;

const MAX_NAME_CHARS: usize = 100;

/// A hostile text, of the file `tests/data/hostile.json`.
#[derive(Debug, Deserialize)]
struct HostileText {
    name: String,
    text: String,
}

impl HostileText {
    /// Returns the text as a name, which may have 256 bytes.
    fn name(&self) -> String {
        self.text.chars().take(MAX_NAME_CHARS).collect::<String>().trim().to_owned()
    }
}

/// Stores records of the user mallory, and of users whose names are hostile.
pub(crate) async fn store(engine: &MemoryEngine) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/hostile.json");
    let texts: Vec<HostileText> = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let mallory = Scope::user(MALLORY).unwrap();
    for (number, hostile) in texts.iter().enumerate() {
        let scope = mallory.clone().with_agent(hostile.name()).unwrap().with_session(hostile.name()).unwrap();
        let turn = turn_record(engine, &scope, hostile, number);
        let fact = fact_record(engine, &mallory, hostile, turn.id);
        let moment = moment_record(engine, &scope, hostile);
        let graph = GraphEntry::new(turn.clone(), extraction(hostile, &texts[(number + 1) % texts.len()]));
        engine.store(&scope, vec![turn.clone(), moment], PutMode::Create).await.unwrap();
        engine.store(&mallory, vec![fact], PutMode::Create).await.unwrap();
        engine.graph().store().upsert(&scope, &[graph]).await.unwrap();
        let hostile_user = Scope::user(hostile.name()).unwrap();
        engine.remember(&hostile_user, hostile.text.as_str()).await.unwrap();
    }
    let wrong = engine.remember(&mallory, "A turn that is wrong").await.unwrap();
    engine.history().retract(&mallory, &[wrong], &texts[0].text).await.unwrap();
    let long = engine.remember(&mallory, "x".repeat(LONG_LINE_CHARS)).await.unwrap();
    engine.patch(&mallory, &[long], RecordPatch::default().pinned(true)).await.unwrap();
    engine.drain(&mallory, |_| ()).await.unwrap();
}

/// Returns a turn with the text in all of its labels.
fn turn_record(engine: &MemoryEngine, scope: &Scope, hostile: &HostileText, number: usize) -> Record {
    let text = hostile.text.clone();
    let mut record = Record::new(scope.clone(), Kind::TURN, &text, engine.settings().clock());
    record.id = RecordId::named(scope, &hostile.name);
    record.role = Some(if number.is_multiple_of(2) { Role::USER } else { Role::new(&text) });
    record.speaker = Some(text.clone());
    record.scene = Some(text.clone());
    record.topic = Some(text.clone());
    record.emotion = Some(text.clone());
    record.entities = vec![text.clone()];
    record.tags = vec![text.clone(), "ordinary".to_owned()];
    record.source.message_id = Some(text.clone());
    record.source.sequence = Some(number as i64 + 1);
    record.metadata.insert(text.clone(), json!({ "nested": text }));
    record
}

/// Returns a fact with the text as subject, attribute, value and quotation.
fn fact_record(engine: &MemoryEngine, scope: &Scope, hostile: &HostileText, turn: RecordId) -> Record {
    let text = &hostile.text;
    let fact: ExtractedFact = serde_json::from_value(json!({
        "subject": text, "slot": text, "value": text, "polarity": "positive", "cardinality": "single", "kind": "fact",
        "said_at": engine.settings().clock().now(), "evidence": [{ "record": turn, "quote": text }], "text": text,
        "confidence": 0.9,
    }))
    .unwrap();
    fact.to_record(scope, engine.settings().clock().now())
}

/// Returns a key moment of a companion whose pack is hostile.
fn moment_record(engine: &MemoryEngine, scope: &Scope, hostile: &HostileText) -> Record {
    let text = &hostile.text;
    let mut record = Record::new(scope.clone(), Kind::KEY_MOMENT, text, engine.settings().clock());
    record.trust = Trust::Derived;
    record.topic = Some(text.clone());
    record.source.message_id = Some(text.clone());
    let metadata = json!({
        "chapter": 0, "moment_name": text, "user_response": text, "aicy_response": text, "outcome": text,
        "affection_gained": 5, "status": text,
    });
    record.metadata = metadata.as_object().unwrap().clone();
    record
}

/// Returns two entities with hostile names and a relation between them.
fn extraction(hostile: &HostileText, other: &HostileText) -> Extraction {
    let relation: String = hostile.text.chars().take(30).collect();
    Extraction {
        entities: vec![Mention::new(hostile.name(), EntityKind::Person), Mention::new(other.name(), EntityKind::Other)],
        relations: vec![Relation::new(hostile.name(), relation.trim(), other.name())],
    }
}
