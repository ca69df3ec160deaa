//! What has become of a memory.

use memory_engine::summarizer::fact_keys;
use memory_engine::{Field, Filter, Kind, PutMode, Record, RecordId, Role, ScanQuery, Scope, State, Timestamp, Trust};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Mem0, failure::Failure, marks, row};
use crate::Access;

/// The book in which deleted memories stand: that they were, and when, and nothing of what they said.
const BOOK: &str = "mem0-history";
/// Which memory an entry is about.
const MEMORY: &str = "memory_id";

/// An event in the life of a memory.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Event {
    event: String,
    at: Timestamp,
    #[serde(skip)]
    old: Option<String>,
    #[serde(skip)]
    new: Option<String>,
    /// The memory that took its place, or whose place it took.
    #[serde(skip)]
    other: Option<RecordId>,
}

/// A text that a memory had, until it was changed.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Edit {
    /// Nothing, where it takes up too much room by now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    until: Timestamp,
}

/// How many changes are kept with a memory.
const EDITS: usize = 50;
/// How much of a record's metadata the former texts take up at the most, in bytes of JSON; what else is there counts, too.
const ROOM: usize = Record::MAX_METADATA_BYTES / 2;

impl Event {
    fn new(event: &str, at: Timestamp, old: Option<String>, new: Option<String>) -> Self {
        Self { event: event.to_owned(), at, old, new, other: None }
    }
}

/// Notes that a record is about to say something else. Where there is no room for all that it has said, the oldest texts go
/// first, and at last the oldest changes; when a text is gone, it is still known until when it was there.
pub(super) fn note_edit(record: &mut Record, until: Timestamp) {
    let mut edits = edits(record);
    edits.push(Edit { text: Some(record.text.clone()), until });
    if edits.len() > EDITS {
        edits.remove(0);
        // This is not what it said in the beginning.
        edits[0].text = None;
    }
    record.metadata.shift_remove(marks::EDITS);
    let mut room = ROOM.saturating_sub(json!(record.metadata).to_string().len());
    for edit in edits.iter_mut().rev() {
        let size = json!(edit).to_string().len();
        // Behind one that does not fit none is kept: the history has no holes but at its beginning.
        room = room.saturating_sub(size);
        if room == 0 {
            edit.text = None;
        }
    }
    record.metadata.insert(marks::EDITS.into(), json!(edits));
}

fn edits(record: &Record) -> Vec<Edit> {
    let edits = record.metadata.get(marks::EDITS).cloned().unwrap_or_default();
    serde_json::from_value(edits).unwrap_or_default()
}

impl Mem0 {
    /// What became of a memory within reach, oldest first; nothing for one that never was. What a deleted one said is told by none
    /// of its events.
    pub(super) async fn history(&self, access: &Access, id: RecordId, platform: bool) -> Result<Vec<Value>, Failure> {
        for scope in access.scopes()? {
            if let Some(record) = self.engine.get(&scope, id).await?.filter(row::can_be_shown) {
                let events = self.events(&record).await?;
                let input = if platform { self.input(&record).await? } else { Value::Null };
                let events = events.iter().enumerate();
                return Ok(events
                    .map(|(n, event)| shown(id, n, event, Some(&record), input.clone(), platform))
                    .collect());
            }
            let events = self.events_of_the_deleted(&scope, id).await?;
            if !events.is_empty() {
                let events = events.iter().enumerate();
                return Ok(events.map(|(n, event)| shown(id, n, event, None, json!([]), platform)).collect());
            }
        }
        Ok(Vec::new())
    }

    async fn events(&self, record: &Record) -> Result<Vec<Event>, Failure> {
        let mut events = Vec::new();
        let edits = edits(record);
        let former = edits.iter().map(|edit| edit.text.clone());
        let texts: Vec<Option<String>> = former.chain([Some(record.text.clone())]).collect();
        let replaced = self.replaced_by(record).await?;
        let made = record.recorded_at;
        match replaced.last() {
            Some(former) if !denies(record) => {
                let mut event = Event::new("UPDATE", made, Some(former.text.clone()), texts[0].clone());
                event.other = Some(former.id);
                events.push(event);
            }
            _ => events.push(Event::new("ADD", made, None, texts[0].clone())),
        }
        for (n, edit) in edits.iter().enumerate() {
            events.push(Event::new("UPDATE", edit.until, texts[n].clone(), texts[n + 1].clone()));
        }
        let newer = marks::text(record, fact_keys::SUPERSEDED_BY).and_then(|id| id.parse::<RecordId>().ok());
        if let (State::Superseded, Some(newer)) = (record.state, newer)
            && let Some(newer) = self.engine.get(&record.scope.namespace(), newer).await?
        {
            let old = Some(record.text.clone());
            let mut event = if denies(&newer) {
                Event::new("DELETE", newer.recorded_at, old, None)
            } else {
                Event::new("UPDATE", newer.recorded_at, old, Some(newer.text.clone()))
            };
            event.other = Some(newer.id);
            events.push(event);
        }
        Ok(events)
    }

    /// The facts whose place a fact has taken, oldest first.
    pub(super) async fn replaced_by(&self, record: &Record) -> Result<Vec<Record>, Failure> {
        if !marks::is_fact(record) {
            return Ok(Vec::new());
        }
        let superseded = Field::Metadata(fact_keys::SUPERSEDED_BY.into());
        let filter = Filter::eq(superseded, record.id.to_string().as_str())
            .and(Filter::eq(Field::State, State::Superseded.as_str()));
        let scope = record.scope.namespace();
        Ok(self.engine.scan(&scope, &ScanQuery::oldest(100).with_filter(filter)).await?.records)
    }

    /// The messages that a memory comes from.
    async fn input(&self, record: &Record) -> Result<Value, Failure> {
        let message = |record: &Record| {
            let role = record.role.as_ref().map_or("user", Role::as_str);
            json!({"role": role, "content": record.text})
        };
        if !marks::is_fact(record) {
            return Ok(json!([message(record)]));
        }
        let evidence = self.engine.get_all(&record.scope.namespace(), &record.derived_from).await?;
        Ok(evidence.iter().flatten().map(message).collect::<Vec<_>>().into())
    }

    /// Forgets records at an address, and notes that their memories were there.
    pub(super) async fn forget_all(&self, address: &Scope, records: &[Record]) -> Result<u64, Failure> {
        let now = self.engine.clock().now();
        let mut entries = Vec::new();
        for record in records.iter().filter(|record| row::is_kind_of_memory(&record.kind)) {
            let mut entry =
                Record::new(address.clone(), Kind::ledger(BOOK), "a memory was deleted", self.engine.clock());
            let mut events = self.events(record).await?;
            events.push(Event::new("DELETE", now, None, None));
            entry.trust = Trust::Tool;
            entry.metadata.insert(MEMORY.into(), json!(record.id));
            entry.metadata.insert("events".into(), json!(events));
            entries.push(entry);
        }
        let ids: Vec<RecordId> = records.iter().map(|record| record.id).collect();
        let gone = self.engine.forget(address, ids).await?;
        // Afterwards: what is noted about what is still there would be wrong, and a tombstone says the most important, too.
        self.engine.store(address, entries, PutMode::Create).await?;
        Ok(gone.records())
    }

    /// What the book says of a deleted memory; else what its tombstone does, if others have deleted it.
    async fn events_of_the_deleted(&self, scope: &Scope, id: RecordId) -> Result<Vec<Event>, Failure> {
        let about = Field::Metadata(MEMORY.into());
        let filter =
            Filter::eq(Field::Kind, Kind::ledger(BOOK).as_str()).and(Filter::eq(about, id.to_string().as_str()));
        let entries = self.engine.scan(scope, &ScanQuery::newest(1).with_filter(filter)).await?.records;
        if let Some(events) = entries.first().and_then(|entry| entry.metadata.get("events").cloned()) {
            return Ok(serde_json::from_value(events).unwrap_or_default());
        }
        let before = u128::from_be_bytes(*id.as_bytes()).checked_sub(1).map(u128::to_be_bytes);
        let found = self.engine.tombstones(scope, before.map(RecordId::from_bytes), 1).await?;
        let buried = found.into_iter().filter(|tombstone| tombstone.id == id);
        Ok(buried.map(|tombstone| Event::new("DELETE", tombstone.deleted_at, None, None)).collect())
    }

    /// The filter that leaves out the book of what was deleted.
    pub(super) fn all_but_the_book() -> Filter {
        Filter::ne(Field::Kind, Kind::ledger(BOOK).as_str())
    }
}

/// Whether a fact says that something is not so.
pub(super) fn denies(record: &Record) -> bool {
    marks::text(record, fact_keys::POLARITY) == Some("negative")
}

fn shown(id: RecordId, n: usize, event: &Event, record: Option<&Record>, input: Value, platform: bool) -> Value {
    // The same event has the same id whenever it is asked for.
    let place = memory_engine::Scope::tenant_wide("mem0-history").ok();
    let event_id = place.map(|place| RecordId::named(&place, &format!("{id} {n}")));
    let at = row::time(event.at);
    let deleted = event.event == "DELETE";
    let mut row = json!({
        "id": event_id,
        "memory_id": id,
        "old_memory": event.old,
        "new_memory": event.new,
        "event": event.event,
        "created_at": at,
        "updated_at": at,
        "is_deleted": deleted,
        "actor_id": record.and_then(Record::named_speaker),
        "role": record.and_then(|record| record.role.as_ref()).map(Role::as_str),
    });
    if let Some(other) = event.other {
        row["related_memory_id"] = json!(other);
    }
    if platform {
        row["input"] = input;
        row["user_id"] = json!(record.and_then(|record| record.scope.user_name()));
        row["categories"] = json!(record.map(row::categories).unwrap_or_default());
        row["metadata"] = record.map(marks::shown).unwrap_or_default();
    }
    row
}
