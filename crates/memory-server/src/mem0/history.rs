//! The history of a memory.

use memory_engine::enrichment::fact_keys;
use memory_engine::{Field, Filter, Kind, PutMode, Record, RecordId, Role, ScanQuery, Scope, State, Timestamp, Trust};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{error::Mem0Error, metadata, params::Dialect, row, service::Mem0};
use crate::access::Access;

/// The book in which deleted memories stand: that they were, and when, and nothing of what they said.
const BOOK: &str = "mem0-history";
/// The metadata key with the id of the memory that an entry is about.
const MEMORY_ID_KEY: &str = "memory_id";

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
struct StoredEdit {
    /// Nothing, where it takes up too much room by now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    until: Timestamp,
}

/// Maximum number of changes that are stored with a memory.
const MAX_CHANGES: usize = 50;
/// Maximum size of the former texts in a record's metadata, in bytes of JSON. Other metadata counts too.
const HISTORY_MAX_BYTES: usize = Record::MAX_METADATA_BYTES / 2;

impl Event {
    fn new(event: &str, at: Timestamp, old: Option<String>, new: Option<String>) -> Self {
        Self { event: event.to_owned(), at, old, new, other: None }
    }
}

/// Notes that a record is about to say something else. Where there is no room for all that it has said, the oldest
/// texts go first, and at last the oldest changes; when a text is gone, it is still known until when it was there.
pub(super) fn note_edit(record: &mut Record, until: Timestamp) {
    let mut edits = edits(record);
    edits.push(StoredEdit { text: Some(record.text.clone()), until });
    if edits.len() > MAX_CHANGES {
        edits.remove(0);
        // This is not what it said in the beginning.
        edits[0].text = None;
    }
    record.metadata.shift_remove(metadata::EDITS);
    let mut room = HISTORY_MAX_BYTES.saturating_sub(json!(record.metadata).to_string().len());
    for edit in edits.iter_mut().rev() {
        let size = json!(edit).to_string().len();
        // Behind one that does not fit none is kept: the history has no holes but at its beginning.
        room = room.saturating_sub(size);
        if room == 0 {
            edit.text = None;
        }
    }
    record.metadata.insert(metadata::EDITS.into(), json!(edits));
}

fn edits(record: &Record) -> Vec<StoredEdit> {
    let edits = record.metadata.get(metadata::EDITS).cloned().unwrap_or_default();
    serde_json::from_value(edits).unwrap_or_default()
}

impl Mem0 {
    /// Returns the history of a memory, oldest first. It is empty for an unknown id. The events of a deleted memory do
    /// not contain its text.
    pub(super) async fn history(
        &self,
        access: &Access,
        id: RecordId,
        dialect: Dialect,
    ) -> Result<Vec<HistoryRow>, Mem0Error> {
        for scope in access.scopes()? {
            let record = self.engine.get(&scope, id).await?.filter(row::can_be_shown);
            let events = match &record {
                Some(record) => self.events(record).await?,
                None => self.events_of_the_deleted(&scope, id).await?,
            };
            if events.is_empty() {
                continue;
            }
            let platform = match dialect {
                Dialect::OpenSource => None,
                Dialect::Platform => Some(self.platform_history(record.as_ref()).await?),
            };
            let rows = events.iter().enumerate();
            return Ok(rows
                .map(|(n, event)| HistoryRow::new(id, n, event, record.as_ref(), platform.clone()))
                .collect());
        }
        Ok(Vec::new())
    }

    async fn platform_history(&self, record: Option<&Record>) -> Result<PlatformHistory, Mem0Error> {
        Ok(PlatformHistory {
            input: match record {
                Some(record) => self.input(record).await?,
                None => Vec::new(),
            },
            user_id: record.and_then(|record| record.scope.user_name()).map(str::to_owned),
            categories: record.map(row::categories).unwrap_or_default().into_iter().map(str::to_owned).collect(),
            metadata: record.map(metadata::shown).unwrap_or_default(),
        })
    }

    async fn events(&self, record: &Record) -> Result<Vec<Event>, Mem0Error> {
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
        let newer = metadata::text(record, fact_keys::SUPERSEDED_BY).and_then(|id| id.parse::<RecordId>().ok());
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
    pub(super) async fn replaced_by(&self, record: &Record) -> Result<Vec<Record>, Mem0Error> {
        if !metadata::is_fact(record) {
            return Ok(Vec::new());
        }
        let superseded = Field::Metadata(fact_keys::SUPERSEDED_BY.into());
        let filter = Filter::eq(superseded, record.id.to_string().as_str())
            .and(Filter::eq(Field::State, State::Superseded.as_str()));
        let scope = record.scope.namespace();
        Ok(self.engine.scan(&scope, &ScanQuery::oldest(100).with_filter(filter)).await?.records)
    }

    /// Returns the messages from which a memory was made.
    async fn input(&self, record: &Record) -> Result<Vec<InputMessage>, Mem0Error> {
        let message = |record: &Record| InputMessage {
            role: record.role.as_ref().map_or("user", Role::as_str).to_owned(),
            content: record.text.clone(),
        };
        if !metadata::is_fact(record) {
            return Ok(vec![message(record)]);
        }
        let evidence = self.engine.get_all(&record.scope.namespace(), &record.derived_from).await?;
        Ok(evidence.iter().flatten().map(message).collect())
    }

    /// Forgets records at an address, and notes that their memories were there.
    pub(super) async fn forget_all(&self, address: &Scope, records: &[Record]) -> Result<u64, Mem0Error> {
        let now = self.engine.clock().now();
        let mut entries = Vec::new();
        for record in records.iter().filter(|record| row::is_kind_of_memory(&record.kind)) {
            let mut entry =
                Record::new(address.clone(), Kind::ledger(BOOK), "a memory was deleted", self.engine.clock());
            let mut events = self.events(record).await?;
            events.push(Event::new("DELETE", now, None, None));
            entry.trust = Trust::Tool;
            entry.metadata.insert(MEMORY_ID_KEY.into(), json!(record.id));
            entry.metadata.insert("events".into(), json!(events));
            entries.push(entry);
        }
        let ids: Vec<RecordId> = records.iter().map(|record| record.id).collect();
        let gone = self.engine.forget(address, ids).await?;
        // Afterwards: what is noted about what is still there would be wrong, and a tombstone says the most important,
        // too.
        self.engine.store(address, entries, PutMode::Create).await?;
        Ok(gone.records())
    }

    /// Returns the history of a deleted memory: its log, or else its tombstone if another client has deleted it.
    async fn events_of_the_deleted(&self, scope: &Scope, id: RecordId) -> Result<Vec<Event>, Mem0Error> {
        let about = Field::Metadata(MEMORY_ID_KEY.into());
        let filter =
            Filter::eq(Field::Kind, Kind::ledger(BOOK).as_str()).and(Filter::eq(about, id.to_string().as_str()));
        let entries = self.engine.scan(scope, &ScanQuery::newest(1).with_filter(filter)).await?.records;
        if let Some(events) = entries.first().and_then(|entry| entry.metadata.get("events").cloned()) {
            return Ok(serde_json::from_value(events).unwrap_or_default());
        }
        let before = u128::from_be_bytes(*id.as_bytes()).checked_sub(1).map(u128::to_be_bytes);
        let found = self.engine.admin().tombstones(scope, before.map(RecordId::from_bytes), 1).await?;
        let buried = found.into_iter().filter(|tombstone| tombstone.id == id);
        Ok(buried.map(|tombstone| Event::new("DELETE", tombstone.deleted_at, None, None)).collect())
    }

    /// The filter that leaves out the book of what was deleted.
    pub(super) fn all_but_the_book() -> Filter {
        Filter::ne(Field::Kind, Kind::ledger(BOOK).as_str())
    }
}

/// Returns true if a fact is a negation.
pub(super) fn denies(record: &Record) -> bool {
    metadata::text(record, fact_keys::POLARITY) == Some("negative")
}

/// An event in the history of a memory.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct HistoryRow {
    /// The id of the event. It stays the same.
    id: Option<String>,
    memory_id: String,
    old_memory: Option<String>,
    new_memory: Option<String>,
    /// `ADD`, `UPDATE` or `DELETE`.
    event: String,
    created_at: String,
    updated_at: String,
    is_deleted: bool,
    actor_id: Option<String>,
    role: Option<String>,
    /// The memory that took the place of this one, or whose place this one took.
    #[serde(skip_serializing_if = "Option::is_none")]
    related_memory_id: Option<String>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    platform: Option<PlatformHistory>,
}

/// The fields that only the platform shows.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct PlatformHistory {
    /// The messages from which the memory was made.
    input: Vec<InputMessage>,
    user_id: Option<String>,
    categories: Vec<String>,
    metadata: Value,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
struct InputMessage {
    role: String,
    content: String,
}

impl HistoryRow {
    fn new(id: RecordId, n: usize, event: &Event, record: Option<&Record>, platform: Option<PlatformHistory>) -> Self {
        let namespace = Scope::tenant_wide("mem0-history").ok();
        let event_id = namespace.map(|scope| RecordId::named(&scope, &format!("{id} {n}")).to_string());
        let at = row::time(event.at);
        Self {
            id: event_id,
            memory_id: id.to_string(),
            old_memory: event.old.clone(),
            new_memory: event.new.clone(),
            event: event.event.clone(),
            created_at: at.clone(),
            updated_at: at,
            is_deleted: event.event == "DELETE",
            actor_id: record.and_then(Record::named_speaker).map(str::to_owned),
            role: record.and_then(|record| record.role.as_ref()).map(|role| role.as_str().to_owned()),
            related_memory_id: event.other.map(|id| id.to_string()),
            platform,
        }
    }
}
