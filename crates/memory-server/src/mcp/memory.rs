//! The representation of a record in tool results.

use memory_engine::{Record, context::visible, store::Score};
use schemars::JsonSchema;
use serde::Serialize;

// The doc comments of this type are part of the schemas that tools/list sends.
/// A record in the result of a tool. Missing values are left out.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Memory {
    /// The id, for get_memory, update_memory and delete_memory
    id: String,
    /// The text of the memory
    memory: String,
    /// The kind, such as turn, note, fact or summary
    kind: String,
    /// The speaker: a name if it is known, otherwise user or assistant
    #[serde(skip_serializing_if = "Option::is_none")]
    speaker: Option<String>,
    /// The scene that the memory belongs to; plot is role-play and not real
    #[serde(skip_serializing_if = "Option::is_none")]
    scene: Option<String>,
    /// The conversation that the memory is from
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    /// The user that the memory belongs to
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<String>,
    /// The time at which it was said or happened (RFC 3339, UTC)
    created_at: String,
}

impl From<&Record> for Memory {
    fn from(record: &Record) -> Self {
        let speaker = record.named_speaker().or(record.role.as_ref().map(|role| role.as_str()));
        Self {
            id: record.id.to_string(),
            memory: visible(&record.text),
            kind: record.kind.as_str().to_owned(),
            speaker: speaker.map(visible),
            scene: record.scene.as_deref().map(visible),
            session_id: record.scope.session().map(str::to_owned),
            user_id: record.scope.user_name().map(str::to_owned),
            created_at: record.occurred_at.to_string(),
        }
    }
}

/// Rounds a score to four decimal places, to keep the result short.
pub(super) fn rounded(score: Score) -> f64 {
    (score.value() * 1e4).round() / 1e4
}
