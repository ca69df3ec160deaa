//! Helpers for text of both languages.

use memory_engine_core::text::is_han;

/// Returns a text on one line, with one space for each run of white space.
pub(crate) fn one_line(text: &str) -> String {
    text.replace('\0', " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns true if a text contains a Chinese character.
pub(crate) fn has_han(text: &str) -> bool {
    text.chars().any(is_han)
}

/// Returns true if a text begins with an upper-case letter.
pub(crate) fn is_capitalised(text: &str) -> bool {
    text.chars().next().is_some_and(char::is_uppercase)
}
