//! A memory as mem0 shows it.

use md5::{Digest, Md5};
use memory_engine::{Field, Filter, Kind, Record, Role, State, Timestamp, summarizer::fact_keys};
use serde_json::{Map, Value, json};

use super::marks;

/// The kinds of records that are memories. Turns are the evidence for them, summaries and parts are made for recall.
const KINDS: [Kind; 5] = [Kind::FACT, Kind::NOTE, Kind::KEY_MOMENT, Kind::EVENT, Kind::PROFILE];

/// Whether a record can be looked at by its id: a memory, or a turn, whether it holds or did so once.
pub(super) fn can_be_shown(record: &Record) -> bool {
    let kind = is_kind_of_memory(&record.kind) || record.kind == Kind::TURN;
    kind && matches!(record.state, State::Active | State::Superseded)
}

pub(super) fn is_kind_of_memory(kind: &Kind) -> bool {
    KINDS.contains(kind)
}

pub(super) fn is_memory(record: &Record) -> bool {
    is_kind_of_memory(&record.kind) && record.state == State::Active
}

/// The memories that hold; with the turns, if they are asked for.
pub(super) fn memories(with_turns: bool) -> Filter {
    let turns = with_turns.then_some(Kind::TURN);
    let kinds = KINDS.iter().cloned().chain(turns).map(|kind| kind.as_str().into()).collect();
    Filter::In(Field::Kind, kinds).and(Filter::eq(Field::State, State::Active.as_str()))
}

/// What is shown on a day: what expires on that day or later, or never.
pub(super) fn fresh(today: &str) -> Filter {
    let expires = Field::Metadata(marks::EXPIRES.into());
    let never = Filter::Not(Box::new(Filter::Exists(expires.clone())));
    Filter::Or(vec![never, Filter::compare(expires, memory_engine::Op::Ge, today)])
}

/// The day of a moment, as expiry goes by it.
pub(super) fn day_of(time: Timestamp) -> String {
    time.in_zone(&jiff::tz::TimeZone::UTC).date().to_string()
}

/// When it was last changed.
pub(super) fn updated_at(record: &Record) -> Timestamp {
    let changed = record.metadata.get(marks::UPDATED).and_then(Value::as_i64);
    changed.map_or(record.occurred_at, Timestamp::from_micros)
}

/// A time as these routes write it: in UTC, with its offset.
pub(super) fn time(time: Timestamp) -> String {
    let text = time.to_string();
    text.strip_suffix('Z').map_or(text.clone(), |bare| format!("{bare}+00:00"))
}

pub(super) fn md5(text: &str) -> String {
    Md5::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What sort of thing it is.
pub(super) fn categories(record: &Record) -> Vec<&str> {
    let sort = marks::is_fact(record).then(|| marks::text(record, fact_keys::TYPE)).flatten();
    sort.into_iter().chain(record.tags.iter().map(String::as_str)).collect()
}

/// A memory as both dialects show it; what the platform shows beside it, too, where it asks.
pub(super) fn row(record: &Record, platform: bool) -> Map<String, Value> {
    let mut row = Map::new();
    let mut put = |name: &str, value: Value| drop(row.insert(name.to_owned(), value));
    put("id", json!(record.id));
    put("memory", json!(record.text));
    put("hash", json!(md5(&record.text)));
    put("metadata", marks::shown(record));
    put("created_at", json!(time(record.occurred_at)));
    put("updated_at", json!(time(updated_at(record))));
    let fact = marks::is_fact(record);
    let set = [
        ("user_id", record.scope.user_name()),
        ("agent_id", record.scope.agent()),
        ("run_id", record.scope.session()),
        ("app_id", marks::text(record, marks::APP)),
        ("actor_id", record.named_speaker()),
        ("role", record.role.as_ref().map(Role::as_str)),
        ("attributed_to", fact.then_some("user")),
        ("expiration_date", marks::text(record, marks::EXPIRES)),
        ("memory_type", marks::text(record, marks::TYPE)),
    ];
    for (name, value) in set {
        if let Some(value) = value {
            put(name, value.into());
        }
    }
    if record.state == State::Superseded {
        put("superseded_by", record.metadata.get(fact_keys::SUPERSEDED_BY).cloned().unwrap_or_default());
    }
    if platform {
        put("categories", json!(categories(record)));
        put("immutable", marks::is(record, marks::IMMUTABLE).into());
        if let Some(feedback) = record.metadata.get(marks::FEEDBACK) {
            put("feedback", feedback.get("feedback").cloned().unwrap_or_default());
        }
    }
    row
}

/// Only these fields of a row, and always its id.
pub(super) fn only(row: &mut Map<String, Value>, fields: Option<&[String]>) {
    if let Some(fields) = fields {
        row.retain(|name, _| name == "id" || fields.contains(name));
    }
}
