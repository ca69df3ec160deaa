//! The metadata keys of these routes.

use std::borrow::Cow;

use memory_engine::{Record, enrichment::fact_keys};
use serde_json::{Map, Value};

/// The prefix of our own keys.
const OWN_KEY_PREFIX: &str = "mem0.";
/// The prefix of a caller's key that collides with one of ours or of the engine.
const ASIDE: &str = "mem0.user.";

/// The id of the first record of the request that stored a record.
pub(super) const EVENT: &str = "mem0.event";
/// The last day on which it is shown.
pub(super) const EXPIRES: &str = "mem0.expires";
/// The application (mem0: `app_id`).
pub(super) const APP: &str = "mem0.app";
/// True if the memory must not be changed.
pub(super) const IMMUTABLE: &str = "mem0.immutable";
/// The former texts, each with the time when it was replaced.
pub(super) const EDITS: &str = "mem0.edits";
/// The time of the last change, in microseconds.
pub(super) const UPDATED: &str = "mem0.updated";
/// The feedback of a user.
pub(super) const FEEDBACK: &str = "mem0.feedback";
/// mem0's `memory_type`.
pub(super) const TYPE: &str = "mem0.type";

/// Keys that identify a memory and its owner. Metadata cannot set them.
const IDENTITY: &[&str] = &["id", "user_id", "agent_id", "run_id", "app_id"];

/// The keys of the engine, including those of facts.
const ENGINE: &[&str] = &[
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

/// The key under which a caller's key is stored.
pub(super) fn stored_key(name: &str) -> Cow<'_, str> {
    if name.starts_with(OWN_KEY_PREFIX) || ENGINE.contains(&name) {
        Cow::Owned(format!("{ASIDE}{name}"))
    } else {
        name.into()
    }
}

/// A caller's metadata under the keys that are stored.
pub(super) fn stored(metadata: Map<String, Value>) -> impl Iterator<Item = (String, Value)> {
    let metadata = metadata.into_iter().filter(|(name, _)| !IDENTITY.contains(&name.as_str()));
    metadata.map(|(name, value)| (stored_key(&name).into_owned(), value))
}

/// The metadata of a record under the caller's keys. `null` when there is none.
pub(super) fn shown(record: &Record) -> Value {
    let by_us = record.metadata.contains_key(EVENT);
    let one = |(name, value): (&String, &Value)| {
        let name = match name.strip_prefix(ASIDE) {
            Some(name) => name,
            None if name.starts_with(OWN_KEY_PREFIX) => return None,
            // Records of other writers may use such keys for their own purposes, unless they are facts.
            None if ENGINE.contains(&name.as_str()) && (by_us || is_fact(record)) => return None,
            None => name,
        };
        Some((name.to_owned(), value.clone()))
    };
    let shown: Map<String, Value> = record.metadata.iter().filter_map(one).collect();
    if shown.is_empty() { Value::Null } else { shown.into() }
}

/// Returns one of our values as text.
pub(super) fn text<'r>(record: &'r Record, name: &str) -> Option<&'r str> {
    record.metadata.get(name).and_then(Value::as_str)
}

/// Returns true if one of our values is true.
pub(super) fn is_set(record: &Record, name: &str) -> bool {
    record.metadata.get(name).and_then(Value::as_bool).unwrap_or(false)
}

/// Returns true if the record is a fact that was extracted from a turn.
pub(super) fn is_fact(record: &Record) -> bool {
    record.kind == memory_engine::Kind::FACT && record.metadata.contains_key(fact_keys::SLOT)
}
