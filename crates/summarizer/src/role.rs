//! Messages of a conversation and their speakers.

use memory_engine_core::{Record, Role, Trust};

/// Returns true if a record is a message of a conversation: see [`Record::is_said`].
pub fn is_said(record: &Record) -> bool {
    record.is_said()
}

/// Returns true if the model is the speaker.
pub(crate) fn is_assistant(record: &Record) -> bool {
    record.role == Some(Role::ASSISTANT) || record.trust == Trust::Assistant
}

/// Returns the speaker: a name, or the role.
pub(crate) fn speaker(record: &Record) -> &str {
    record.named_speaker().or(record.role.as_ref().map(Role::as_str)).unwrap_or("user")
}
