//! The metadata keys of mem0's routes.

use std::borrow::Cow;

use memory_engine::{Record, enrichment::fact_keys, store::RecordGroup};
use serde_json::{Map, Value};

/// The prefix of the keys defined here.
const OWN_KEY_PREFIX: &str = "mem0.";
/// The prefix of a caller's key that collides with a key defined here or by the engine.
const ESCAPED_KEY_PREFIX: &str = "mem0.user.";

/// The id of the first record that the same request stored. It identifies the event.
pub(super) const EVENT: &str = "mem0.event";
/// The last day on which the memory is shown, as `YYYY-MM-DD`.
pub(super) const EXPIRES: &str = "mem0.expires";
/// The application (mem0: `app_id`).
pub(super) const APP: &str = RecordGroup::APP_KEY;
/// True if the memory must not be changed.
pub(super) const IMMUTABLE: &str = "mem0.immutable";
/// The former texts, each with the time when it was replaced.
pub(super) const EDITS: &str = "mem0.edits";
/// The time of the last change, in microseconds.
pub(super) const UPDATED: &str = RecordGroup::EDITED_KEY;
/// The feedback of a user.
pub(super) const FEEDBACK: &str = "mem0.feedback";
/// mem0's `memory_type`.
pub(super) const TYPE: &str = "mem0.type";

/// Keys that identify a memory and its owner. They are removed from a caller's metadata.
const IDENTITY_KEYS: &[&str] = &["id", "user_id", "agent_id", "run_id", "app_id"];

/// The keys of the engine, including those of facts.
const ENGINE_KEYS: &[&str] = &[
    fact_keys::SUBJECT,
    fact_keys::SLOT,
    fact_keys::VALUE,
    fact_keys::POLARITY,
    fact_keys::CARDINALITY,
    fact_keys::TYPE,
    fact_keys::QUOTES,
    fact_keys::STATED_UNTIL,
    fact_keys::MERGED_INTO,
    fact_keys::SUPERSEDED_BY,
    fact_keys::CONFIRMED_BY,
    fact_keys::RULE,
    "retraction",
];

/// The keys of the history of a record and of its time zone, which are hidden in every memory.
const HIDDEN_KEYS: &[&str] = &["former_states", "text_since", "redacted", Record::ZONE_KEY];

/// Returns the key under which a caller's key is stored.
pub(super) fn stored_key(name: &str) -> Cow<'_, str> {
    if name.starts_with(OWN_KEY_PREFIX) || ENGINE_KEYS.contains(&name) || HIDDEN_KEYS.contains(&name) {
        Cow::Owned(format!("{ESCAPED_KEY_PREFIX}{name}"))
    } else {
        name.into()
    }
}

/// Replaces the keys of a caller's metadata with the stored ones. Keys of identity are left out.
pub(super) fn to_stored(metadata: Map<String, Value>) -> impl Iterator<Item = (String, Value)> {
    let metadata = metadata.into_iter().filter(|(name, _)| !IDENTITY_KEYS.contains(&name.as_str()));
    metadata.map(|(name, value)| (stored_key(&name).into_owned(), value))
}

/// Returns the metadata of a record under the caller's keys, or `null` if it is empty.
pub(super) fn to_caller(record: &Record) -> Value {
    // Notes of other writers may use the engine's keys for their own purposes.
    let hides_engine_keys = record.metadata.contains_key(EVENT) || is_fact(record);
    let mut metadata = Map::new();
    for (key, value) in &record.metadata {
        if let Some(callers_key) = key.strip_prefix(ESCAPED_KEY_PREFIX) {
            metadata.insert(callers_key.to_owned(), value.clone());
            continue;
        }
        let is_engine_key = ENGINE_KEYS.contains(&key.as_str());
        let is_hidden = key.starts_with(OWN_KEY_PREFIX)
            || HIDDEN_KEYS.contains(&key.as_str())
            || (is_engine_key && hides_engine_keys);
        if !is_hidden {
            metadata.insert(key.clone(), value.clone());
        }
    }
    if metadata.is_empty() { Value::Null } else { metadata.into() }
}

/// Returns a metadata value if it is a text.
pub(super) fn text<'r>(record: &'r Record, name: &str) -> Option<&'r str> {
    record.metadata.get(name).and_then(Value::as_str)
}

/// Returns true if a metadata value is true.
pub(super) fn is_set(record: &Record, name: &str) -> bool {
    record.metadata.get(name).and_then(Value::as_bool).unwrap_or(false)
}

/// Returns true if the record is a fact that was extracted from a turn.
pub(super) fn is_fact(record: &Record) -> bool {
    record.kind == memory_engine::Kind::FACT && record.metadata.contains_key(fact_keys::SLOT)
}
