//! Which turns are somebody's own words.

use memory_engine_core::{Kind, Record, Role, Trust};

/// The scenes in which nothing that is said is true: a story, and talk about the system.
pub(crate) const FICTION: &[&str] = &["plot", "meta"];

/// Whether a record is something that was said in a conversation: no instructions, no tool's answer, nothing derived. Only
/// that is digested.
pub fn is_said(record: &Record) -> bool {
    let role = record.role.as_ref().map(Role::as_str);
    record.kind == Kind::TURN
        && !matches!(role, Some("system" | "tool" | "developer" | "function"))
        && !matches!(record.trust, Trust::Derived | Trust::Tool)
}

/// Whether the model said it.
pub(crate) fn is_assistant(record: &Record) -> bool {
    record.role == Some(Role::ASSISTANT) || record.trust == Trust::Assistant
}

/// Who speaks: a name, or the role.
pub(crate) fn speaker(record: &Record) -> &str {
    record.named_speaker().or(record.role.as_ref().map(Role::as_str)).unwrap_or("user")
}
