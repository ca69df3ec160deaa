//! Memories, as mem0 shows them.

use md5::{Digest, Md5};
use memory_engine::{Field, Filter, Kind, Record, Role, State, Timestamp, enrichment::fact_keys};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{metadata, params::Mem0Api};
use crate::config::IncludedTurns;

/// The kinds of records that are memories. Turns are evidence; summaries and chunks serve recall.
const MEMORY_KINDS: [Kind; 5] = [Kind::FACT, Kind::NOTE, Kind::KEY_MOMENT, Kind::EVENT, Kind::PROFILE];

/// Returns true if a record can be read by its id: a memory or a turn that is active or superseded.
pub(super) fn is_readable(record: &Record) -> bool {
    let has_readable_kind = is_memory_kind(&record.kind) || record.kind == Kind::TURN;
    has_readable_kind && matches!(record.state, State::Active | State::Superseded)
}

pub(super) fn is_memory_kind(kind: &Kind) -> bool {
    MEMORY_KINDS.contains(kind)
}

/// Returns true if a record is an active memory.
pub(super) fn is_memory(record: &Record) -> bool {
    is_memory_kind(&record.kind) && record.state == State::Active
}

/// Returns the filter for active memories and turns.
pub(super) fn active_memories(turns: IncludedTurns) -> Filter {
    let memories = Filter::In(Field::Kind, MEMORY_KINDS.iter().map(|kind| kind.as_str().into()).collect());
    let is_turn = Filter::eq(Field::Kind, Kind::TURN.as_str());
    let shown = match turns {
        IncludedTurns::None => memories,
        // A turn without a role, from an import, is one of the user.
        IncludedTurns::User => {
            let has_no_role = Filter::Not(Box::new(Filter::Exists(Field::Role)));
            let is_of_user = Filter::Or(vec![Filter::eq(Field::Role, Role::USER.as_str()), has_no_role]);
            Filter::Or(vec![memories, is_turn.and(is_of_user)])
        }
        IncludedTurns::All => Filter::Or(vec![memories, is_turn]),
    };
    shown.and(Filter::eq(Field::State, State::Active.as_str()))
}

/// Returns the filter for memories that have not expired before a day.
pub(super) fn not_expired(today: &str) -> Filter {
    let expires = Field::Metadata(metadata::EXPIRES.into());
    let never_expires = Filter::Not(Box::new(Filter::Exists(expires.clone())));
    Filter::Or(vec![never_expires, Filter::compare(expires, memory_engine::Op::Ge, today)])
}

/// Returns the time of the last change, or of the memory itself if it was never changed.
pub(super) fn updated_at(record: &Record) -> Timestamp {
    let changed = record.metadata.get(metadata::UPDATED).and_then(Value::as_i64);
    changed.map_or(record.occurred_at, Timestamp::from_micros)
}

/// Formats a time in UTC with the offset `+00:00`, as mem0 does.
pub(super) fn time(time: Timestamp) -> String {
    let text = time.to_string();
    match text.strip_suffix('Z') {
        Some(time) => format!("{time}+00:00"),
        None => text,
    }
}

pub(super) fn md5(text: &str) -> String {
    Md5::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns mem0's categories of a record: the type of a fact, and the tags.
pub(super) fn categories(record: &Record) -> Vec<&str> {
    let fact_type = metadata::is_fact(record).then(|| metadata::text(record, fact_keys::TYPE)).flatten();
    fact_type.into_iter().chain(record.tags.iter().map(String::as_str)).collect()
}

/// A memory, as both of mem0's APIs show it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Mem0Memory")]
pub(super) struct MemoryRow {
    id: String,
    memory: String,
    /// The MD5 hash of the text.
    hash: String,
    metadata: Value,
    created_at: String,
    updated_at: String,
    #[serde(flatten)]
    names: Map<String, Value>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    platform: Option<PlatformFields>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    score: Option<SearchScore>,
    /// Says that a requested change waits until a person accepts it.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'static str>,
    /// True if a part of it does not hold any more. The memory that holds now comes before it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(with = "Option<bool>")]
    outdated: bool,
}

/// The fields that only the platform shows.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct PlatformFields {
    categories: Vec<String>,
    immutable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    feedback: Option<Value>,
}

/// The score of a memory in a search.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
#[schemars(rename = "Score")]
pub(super) struct SearchScore {
    /// 0 to 1. `null` outside of searches.
    pub(super) score: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) score_breakdown: Option<ScoreBreakdown>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) score_details: Option<ScoreDetails>,
}

/// The parts of a score, by the platform's names.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct ScoreBreakdown {
    pub(super) semantic: f64,
    pub(super) bm25: f64,
    pub(super) entity: f64,
}

/// The parts of a score, by the names of the open-source server.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct ScoreDetails {
    pub(super) semantic_score: f64,
    pub(super) bm25_score: f64,
    pub(super) entity_boost: f64,
    pub(super) raw_score: f64,
    pub(super) max_possible_score: f64,
    pub(super) final_score: f64,
    pub(super) threshold: f64,
    /// The retrievers that found the memory.
    pub(super) found_by: Vec<&'static str>,
    pub(super) relevant: bool,
}

impl MemoryRow {
    pub(super) fn new(record: &Record, api: Mem0Api) -> Self {
        Self {
            id: record.id.to_string(),
            memory: record.text.clone(),
            hash: md5(&record.text),
            metadata: metadata::to_caller(record),
            created_at: time(record.occurred_at),
            updated_at: time(updated_at(record)),
            names: row_names(record),
            platform: (api == Mem0Api::Platform).then(|| PlatformFields {
                categories: categories(record).into_iter().map(str::to_owned).collect(),
                immutable: metadata::is_set(record, metadata::IMMUTABLE),
                feedback: record
                    .metadata
                    .get(metadata::FEEDBACK)
                    .map(|feedback| feedback.get("feedback").cloned().unwrap_or_default()),
            }),
            score: None,
            message: None,
            outdated: false,
        }
    }

    pub(super) fn with_message(self, message: &'static str) -> Self {
        Self { message: Some(message), ..self }
    }

    pub(super) fn outdated(self) -> Self {
        Self { outdated: true, ..self }
    }

    pub(super) fn with_score(self, score: SearchScore) -> Self {
        Self { score: Some(score), ..self }
    }
}

/// Returns the optional text fields: owner, speaker, type and expiration. Missing ones are left out.
fn row_names(record: &Record) -> Map<String, Value> {
    let fields = [
        ("user_id", record.scope.user_name()),
        ("agent_id", record.scope.agent()),
        ("run_id", record.scope.session()),
        ("app_id", metadata::text(record, metadata::APP)),
        ("actor_id", record.named_speaker()),
        ("role", record.role.as_ref().map(Role::as_str)),
        ("attributed_to", metadata::is_fact(record).then_some("user")),
        ("expiration_date", metadata::text(record, metadata::EXPIRES)),
        ("memory_type", metadata::text(record, metadata::TYPE)),
    ];
    let present = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.into())));
    let superseded_by = (record.state == State::Superseded)
        .then(|| record.metadata.get(fact_keys::SUPERSEDED_BY).cloned().unwrap_or_default());
    present.chain(superseded_by.map(|id| ("superseded_by".to_owned(), id))).collect()
}
