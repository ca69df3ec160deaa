//! Messages of Zep.

use serde_json::{Map, Value};

use super::keys::{text, time};
use crate::{error::RowError, row::ImportedTurn};

/// Returns the turn of a message, or `None` for a message of the system or of a tool.
///
/// Version 2 of Zep has the type in `role_type` and a name in `role`. Later ones have the type in `role` and a name in
/// `name` or, for episodes, in `role_name`.
pub(super) fn read(keys: &Map<String, Value>) -> Result<Option<ImportedTurn>, RowError> {
    let kind = text(keys, "role_type").or_else(|| text(keys, "role")).unwrap_or_default();
    let Some(role) = role(kind) else { return Ok(None) };
    let content = keys.get("content").cloned().unwrap_or_default();
    let Value::String(content) = content else { return Err(RowError::WrongType { key: "content", expected: "text" }) };
    let mut turn = ImportedTurn { seed: Value::Object(keys.clone()).to_string(), ..ImportedTurn::default() };
    if content.trim().is_empty() {
        return Ok(None);
    }
    turn.set("text", content);
    turn.set("role", role);
    turn.set("id", keys.get("uuid").cloned().unwrap_or_default());
    turn.set("time", time(keys, &["reference_time", "created_at"]));
    turn.set("metadata", keys.get("metadata").filter(|metadata| metadata.is_object()).cloned().unwrap_or_default());
    let named_role = text(keys, "role").filter(|name| text(keys, "role_type").is_some() && *name != kind);
    let speaker = text(keys, "role_name").or_else(|| text(keys, "name")).or(named_role);
    turn.set("speaker", speaker);
    if role == PARTICIPANT && speaker.is_none() && !["", "norole"].contains(&kind) {
        turn.set("speaker", kind);
    }
    Ok(Some(turn))
}

/// The role of a speaker of another type.
pub(super) const PARTICIPANT: &str = "participant";

/// Returns the role for a type of Zep, or `None` if its messages are not the words of a participant.
pub(super) fn role(kind: &str) -> Option<&'static str> {
    match kind.to_lowercase().as_str() {
        "user" | "human" => Some("user"),
        "assistant" | "ai" => Some("assistant"),
        "system" | "tool" | "function" => None,
        _ => Some(PARTICIPANT),
    }
}
