//! The history of a memory.

use memory_engine::{
    Field, Filter, Forget, Kind, LinkedTurns, PutMode, Record, RecordId, Role, ScanQuery, Scope, State, Timestamp,
    Trust, enrichment::fact_keys,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{error::Mem0Error, metadata, params::Mem0Api, row, service::Mem0};
use crate::access::Access;

/// The ledger that logs deleted memories: the times of their events, and never their texts.
const DELETION_LOG: &str = "mem0-history";
/// The metadata key with the id of the deleted memory that a log entry is about.
const MEMORY_ID_KEY: &str = "memory_id";

/// An event in the life of a memory.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct HistoryEvent {
    event: String,
    at: Timestamp,
    #[serde(skip)]
    old: Option<String>,
    #[serde(skip)]
    new: Option<String>,
    /// The memory that superseded this one, or that this one superseded.
    #[serde(skip)]
    other: Option<RecordId>,
}

/// A former text of a memory.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct StoredEdit {
    /// `None` if the text was dropped to save space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// The time when the text was replaced.
    until: Timestamp,
}

/// Maximum number of former texts that are stored with a memory.
const MAX_EDITS: usize = 50;
/// Maximum size of the former texts in a record's metadata, in bytes of JSON. Other metadata counts too.
const HISTORY_MAX_BYTES: usize = Record::MAX_METADATA_BYTES / 2;

impl HistoryEvent {
    fn new(event: &str, at: Timestamp, old: Option<String>, new: Option<String>) -> Self {
        Self { event: event.to_owned(), at, old, new, other: None }
    }
}

/// Adds the current text of a record to its history, before it is replaced.
///
/// The oldest texts are dropped when the history exceeds [`HISTORY_MAX_BYTES`]; the times of these edits are kept. The
/// oldest edit is dropped when there are more than [`MAX_EDITS`].
pub(super) fn add_edit(record: &mut Record, until: Timestamp) {
    let mut edits = edits(record);
    edits.push(StoredEdit { text: Some(record.text.clone()), until });
    if edits.len() > MAX_EDITS {
        edits.remove(0);
        // The ADD event shows the first text of the list, but this is no longer the original one.
        edits[0].text = None;
    }
    record.metadata.shift_remove(metadata::EDITS);
    let mut remaining_bytes = HISTORY_MAX_BYTES.saturating_sub(json!(record.metadata).to_string().len());
    for edit in edits.iter_mut().rev() {
        let size = json!(edit).to_string().len();
        // Once a text does not fit, all older ones are dropped too, so the history has no gaps between texts.
        remaining_bytes = remaining_bytes.saturating_sub(size);
        if remaining_bytes == 0 {
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
        api: Mem0Api,
    ) -> Result<Vec<HistoryRow>, Mem0Error> {
        for scope in access.scopes()? {
            let record = self.engine.get(&scope, id).await?.filter(row::is_readable);
            let events = match &record {
                Some(record) => self.events(record).await?,
                None => self.events_of_deleted(&scope, id).await?,
            };
            if events.is_empty() {
                continue;
            }
            let platform = match api {
                Mem0Api::OpenSource => None,
                Mem0Api::Platform => Some(self.platform_history(record.as_ref()).await?),
            };
            let mut rows = Vec::with_capacity(events.len());
            for (index, event) in events.iter().enumerate() {
                rows.push(HistoryRow::new(id, index, event, record.as_ref(), platform.clone()));
            }
            return Ok(rows);
        }
        Ok(Vec::new())
    }

    async fn platform_history(&self, record: Option<&Record>) -> Result<PlatformHistory, Mem0Error> {
        Ok(PlatformHistory {
            input: match record {
                Some(record) => self.source_messages(record).await?,
                None => Vec::new(),
            },
            user_id: record.and_then(|record| record.scope.user_name()).map(str::to_owned),
            categories: record.map(row::categories).unwrap_or_default().into_iter().map(str::to_owned).collect(),
            metadata: record.map(metadata::to_caller).unwrap_or_default(),
        })
    }

    /// Returns the events of an existing memory, oldest first.
    async fn events(&self, record: &Record) -> Result<Vec<HistoryEvent>, Mem0Error> {
        let mut events = Vec::new();
        let edits = edits(record);
        let former_texts = edits.iter().map(|edit| edit.text.clone());
        let texts: Vec<Option<String>> = former_texts.chain([Some(record.text.clone())]).collect();
        let superseded = self.facts_superseded_by(record).await?;
        let added_at = record.recorded_at;
        // The history of mem0 has one former text, which is the newest of several.
        match superseded.last() {
            Some(former) if !is_negation(record) => {
                let mut event = HistoryEvent::new("UPDATE", added_at, Some(former.text.clone()), texts[0].clone());
                event.other = Some(former.id);
                events.push(event);
            }
            _ => events.push(HistoryEvent::new("ADD", added_at, None, texts[0].clone())),
        }
        for (index, edit) in edits.iter().enumerate() {
            events.push(HistoryEvent::new("UPDATE", edit.until, texts[index].clone(), texts[index + 1].clone()));
        }
        let newer = metadata::text(record, fact_keys::SUPERSEDED_BY).and_then(|id| id.parse::<RecordId>().ok());
        if let (State::Superseded, Some(newer)) = (record.state, newer)
            && let Some(newer) = self.engine.get(&record.scope.namespace(), newer).await?
        {
            let old = Some(record.text.clone());
            let mut event = if is_negation(&newer) {
                HistoryEvent::new("DELETE", newer.recorded_at, old, None)
            } else {
                HistoryEvent::new("UPDATE", newer.recorded_at, old, Some(newer.text.clone()))
            };
            event.other = Some(newer.id);
            events.push(event);
        }
        Ok(events)
    }

    /// Returns the facts that a fact has superseded, oldest first. Empty for other records.
    pub(super) async fn facts_superseded_by(&self, record: &Record) -> Result<Vec<Record>, Mem0Error> {
        if !metadata::is_fact(record) {
            return Ok(Vec::new());
        }
        let superseded_by = Field::Metadata(fact_keys::SUPERSEDED_BY.into());
        let filter = Filter::eq(superseded_by, record.id.to_string().as_str())
            .and(Filter::eq(Field::State, State::Superseded.as_str()));
        let scope = record.scope.namespace();
        Ok(self.engine.scan(&scope, &ScanQuery::oldest(100).with_filter(filter)).await?.records)
    }

    /// Returns the messages from which a memory was made.
    async fn source_messages(&self, record: &Record) -> Result<Vec<InputMessage>, Mem0Error> {
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

    /// Forgets records at an address, and logs the deletion of each memory. Returns the number of forgotten records.
    pub(super) async fn forget_all(
        &self,
        address: &Scope,
        records: &[Record],
        turns: LinkedTurns,
    ) -> Result<u64, Mem0Error> {
        let clock = self.engine.settings().clock();
        let now = clock.now();
        let mut entries = Vec::new();
        for record in records.iter().filter(|record| row::is_memory_kind(&record.kind)) {
            let mut entry = Record::new(address.clone(), Kind::ledger(DELETION_LOG), "a memory was deleted", clock);
            let mut events = self.events(record).await?;
            events.push(HistoryEvent::new("DELETE", now, None, None));
            entry.trust = Trust::Tool;
            entry.metadata.insert(MEMORY_ID_KEY.into(), json!(record.id));
            entry.metadata.insert("events".into(), json!(events));
            entries.push(entry);
        }
        let ids: Vec<RecordId> = records.iter().map(|record| record.id).collect();
        let report = self.engine.forget(address, Forget::Linked { ids, turns }).await?;
        // The log is written last: it must not claim a deletion that failed. If writing it fails, the tombstones still
        // record the deletion.
        self.engine.store(address, entries, PutMode::Create).await?;
        Ok(report.records())
    }

    /// Returns the events of a deleted memory from the deletion log. If it was deleted without these routes, its
    /// tombstone is the only event.
    async fn events_of_deleted(&self, scope: &Scope, id: RecordId) -> Result<Vec<HistoryEvent>, Mem0Error> {
        let about = Field::Metadata(MEMORY_ID_KEY.into());
        let filter = Filter::eq(Field::Kind, Kind::ledger(DELETION_LOG).as_str())
            .and(Filter::eq(about, id.to_string().as_str()));
        let entries = self.engine.scan(scope, &ScanQuery::newest(1).with_filter(filter)).await?.records;
        if let Some(events) = entries.first().and_then(|entry| entry.metadata.get("events").cloned()) {
            return Ok(serde_json::from_value(events).unwrap_or_default());
        }
        // Tombstones are listed after an id, in the order of their ids.
        let previous_id = u128::from_be_bytes(*id.as_bytes()).checked_sub(1).map(u128::to_be_bytes);
        let tombstones = self.engine.admin().tombstones(scope, previous_id.map(RecordId::from_bytes), 1).await?;
        let matching = tombstones.into_iter().filter(|tombstone| tombstone.id == id);
        Ok(matching.map(|tombstone| HistoryEvent::new("DELETE", tombstone.deleted_at, None, None)).collect())
    }

    /// Returns the filter for all records but the deletion log.
    pub(super) fn without_deletion_log() -> Filter {
        Filter::ne(Field::Kind, Kind::ledger(DELETION_LOG).as_str())
    }
}

/// Returns true if a fact is a negation.
pub(super) fn is_negation(record: &Record) -> bool {
    metadata::text(record, fact_keys::POLARITY) == Some("negative")
}

/// An event in the history of a memory.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct HistoryRow {
    /// The id of the event. It does not change when events are added.
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
    /// The memory that superseded this one, or that this one superseded.
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
    fn new(
        id: RecordId,
        index: usize,
        event: &HistoryEvent,
        record: Option<&Record>,
        platform: Option<PlatformHistory>,
    ) -> Self {
        let namespace = Scope::tenant_wide("mem0-history").ok();
        let event_id = namespace.map(|scope| RecordId::named(&scope, &format!("{id} {index}")).to_string());
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
