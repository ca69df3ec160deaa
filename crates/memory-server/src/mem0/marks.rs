//! What these routes note with a record, in its metadata.

use std::borrow::Cow;

use memory_engine::{Record, summarizer::fact_keys};
use serde_json::{Map, Value};

/// What the names of our own notes begin with.
const OWN: &str = "mem0.";
/// Where a caller's note goes whose name is taken.
const ASIDE: &str = "mem0.user.";

/// Which request stored it: the id of the first record of that request.
pub(super) const EVENT: &str = "mem0.event";
/// The last day on which it is shown.
pub(super) const EXPIRES: &str = "mem0.expires";
/// The application (mem0: `app_id`).
pub(super) const APP: &str = "mem0.app";
/// That it must not be changed.
pub(super) const IMMUTABLE: &str = "mem0.immutable";
/// The texts that it had before, each with the time when it ceased to have it.
pub(super) const EDITS: &str = "mem0.edits";
/// When it was changed, in microseconds.
pub(super) const UPDATED: &str = "mem0.updated";
/// What somebody thinks of it.
pub(super) const FEEDBACK: &str = "mem0.feedback";
/// mem0's `memory_type`.
pub(super) const TYPE: &str = "mem0.type";

/// Names that say whose a memory is: they are told by its address, and no note can change them.
const IDENTITY: &[&str] = &["id", "user_id", "agent_id", "run_id", "app_id"];

/// The engine's own notes, with those of a fact.
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

/// Under which name a caller's note is kept.
pub(super) fn kept_as(name: &str) -> Cow<'_, str> {
    if name.starts_with(OWN) || ENGINE.contains(&name) { Cow::Owned(format!("{ASIDE}{name}")) } else { name.into() }
}

/// A caller's metadata, as it is kept with a record.
pub(super) fn kept(metadata: Map<String, Value>) -> impl Iterator<Item = (String, Value)> {
    let metadata = metadata.into_iter().filter(|(name, _)| !IDENTITY.contains(&name.as_str()));
    metadata.map(|(name, value)| (kept_as(&name).into_owned(), value))
}

/// The metadata of a record, as a caller sees it: nothing when it is empty.
pub(super) fn shown(record: &Record) -> Value {
    let by_us = record.metadata.contains_key(EVENT);
    let one = |(name, value): (&String, &Value)| {
        let name = match name.strip_prefix(ASIDE) {
            Some(name) => name,
            None if name.starts_with(OWN) => return None,
            // Only the records that we have stored keep such names aside, and only facts have them.
            None if ENGINE.contains(&name.as_str()) && (by_us || is_fact(record)) => return None,
            None => name,
        };
        Some((name.to_owned(), value.clone()))
    };
    let shown: Map<String, Value> = record.metadata.iter().filter_map(one).collect();
    if shown.is_empty() { Value::Null } else { shown.into() }
}

/// A note of ours, as a text.
pub(super) fn text<'r>(record: &'r Record, name: &str) -> Option<&'r str> {
    record.metadata.get(name).and_then(Value::as_str)
}

/// Whether a note of ours says yes.
pub(super) fn is(record: &Record, name: &str) -> bool {
    record.metadata.get(name).and_then(Value::as_bool).unwrap_or(false)
}

/// Whether it is a fact that was found in what somebody said.
pub(super) fn is_fact(record: &Record) -> bool {
    record.kind == memory_engine::Kind::FACT && record.metadata.contains_key(fact_keys::SLOT)
}
