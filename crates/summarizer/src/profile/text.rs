//! Texts of prompts: lines that cannot pass for a heading or for the line of another speaker.

use memory_engine_context::quoted;
use memory_engine_core::{Language, Record, Role};

use super::labels::{labels, reserved_headings};

/// Returns a text on one line: white space and control characters become single spaces.
pub fn folded(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns at most `max_chars` characters of a text. A text that was cut ends with an ellipsis.
pub fn cut(text: &str, max_chars: usize) -> String {
    if text.chars().count() <= max_chars {
        return text.to_owned();
    }
    text.chars().take(max_chars.saturating_sub(1)).chain(['…']).collect()
}

/// Returns a text on one line, without brackets that would make it a heading of a prompt.
pub(super) fn quoted_line(text: &str, language: Language) -> String {
    quoted(&folded(text), &reserved_headings(language))
}

/// Returns a message as one line of a conversation, under the name of its speaker.
pub fn conversation_line(record: &Record, companion: &str, language: Language) -> String {
    let labels = labels(language);
    let is_companion = record.role == Some(Role::ASSISTANT);
    let speaker = if !is_companion {
        labels.user
    } else if companion.is_empty() {
        labels.assistant
    } else {
        companion
    };
    format!("{speaker}{}{}", labels.colon, quoted(&record.text, &reserved_headings(language)))
}
