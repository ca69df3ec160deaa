//! Texts of prompts: lines that cannot pass for a heading or for the line of another speaker.

use memory_engine_context::quoted;
use memory_engine_core::{Language, Record, Role};

use super::labels::{labels, reserved_headings};

/// Folds white space and control characters to single blanks.
pub fn folded(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns at most `most` characters; a text that was cut ends with an ellipsis.
pub fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

pub(super) fn one_line(text: &str, language: Language) -> String {
    quoted(&folded(text), &reserved_headings(language))
}

/// Returns a message as one line of a conversation, under the name of its speaker.
pub fn conversation_line(record: &Record, companion: &str, language: Language) -> String {
    let labels = labels(language);
    let by_companion = record.role.as_ref().is_some_and(|role| *role == Role::ASSISTANT);
    let speaker = match by_companion {
        true if companion.is_empty() => labels.assistant,
        true => companion,
        false => labels.user,
    };
    format!("{speaker}{}{}", labels.colon, quoted(&record.text, &reserved_headings(language)))
}
