//! A record as the views of the inspector show it.

use memory_engine::{Record, RecordId, enrichment::fact_keys, history::Edit};
use schemars::JsonSchema;
use serde::Serialize;

/// Maximum number of sources whose ids are listed.
const MAX_LISTED_SOURCES: usize = 20;

/// A record as the views of the inspector show it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RecordView {
    #[schemars(with = "String")]
    id: RecordId,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    kind: String,
    /// `active`, `pending`, `superseded`, `revoked` (retracted) or `deleted`.
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    speaker: Option<String>,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    scene: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    topic: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    pinned: bool,
    /// From 0 to 1.
    importance: f64,
    /// From 0 to 1.
    confidence: f64,
    occurred_at: String,
    recorded_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    valid_from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    valid_until: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
    /// The newer fact that superseded this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    superseded_by: Option<String>,
    /// Number of records that it was derived from.
    sources: usize,
    /// The ids of the first 20 of them.
    #[schemars(with = "Vec<String>")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    derived_from: Vec<RecordId>,
    /// Number of former texts.
    edits: usize,
}

impl RecordView {
    pub(super) fn of(record: &Record) -> Self {
        let [user_id, agent_id, session_id, branch] =
            record.scope.dimensions().map(|(_, name)| name.map(str::to_owned));
        let superseded_by = record.metadata.get(fact_keys::SUPERSEDED_BY).and_then(|id| id.as_str());
        Self {
            id: record.id,
            user_id,
            agent_id,
            session_id,
            branch,
            kind: record.kind.to_string(),
            state: record.state.as_str(),
            role: record.role.as_ref().map(ToString::to_string),
            speaker: record.named_speaker().map(str::to_owned),
            text: record.text.clone(),
            scene: record.scene.clone(),
            topic: record.topic.clone(),
            tags: record.tags.clone(),
            pinned: record.pinned,
            importance: record.importance,
            confidence: record.confidence,
            occurred_at: record.occurred_at.to_string(),
            recorded_at: record.recorded_at.to_string(),
            valid_from: record.valid_from.map(|time| time.to_string()),
            valid_until: record.valid_until.map(|time| time.to_string()),
            expires_at: record.expires_at.map(|time| time.to_string()),
            superseded_by: superseded_by.map(str::to_owned),
            sources: record.derived_from.len(),
            derived_from: record.derived_from.iter().take(MAX_LISTED_SOURCES).copied().collect(),
            edits: Edit::all_of(record).len(),
        }
    }
}
