//! JSON that services and clients send, as it is.

use std::ops::Range;

use memory_engine_intake::without_lone_surrogates;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, value::RawValue};

/// A change of a body: a range of its bytes, and the text that replaces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) range: Range<usize>,
    pub(super) text: String,
}

impl Edit {
    /// Returns the edit that inserts a text at this position.
    pub(super) fn insert(position: usize, text: String) -> Self {
        Self { range: position..position, text }
    }
}

#[derive(Deserialize)]
struct MessagePart {
    #[serde(default)]
    text: Option<String>,
}

/// Returns the text as a JSON string, with quotes.
pub(super) fn json_string(text: &str) -> String {
    Value::from(text).to_string()
}

/// Returns the edit that appends a paragraph to the JSON string in this range of a body.
pub(super) fn append_paragraph(body: &str, range: Range<usize>, paragraph: &str) -> Edit {
    let is_empty = &body[range.clone()] == r#""""#;
    let separator = if is_empty { "" } else { "\n\n" };
    let text = json_string(&format!("{separator}{paragraph}"));
    // Before the quote that closes the string.
    Edit::insert(range.end - 1, text[1..text.len() - 1].to_owned())
}

/// Returns the edit that appends a part to the JSON list of parts in this range of a body.
pub(super) fn append_part(body: &str, range: Range<usize>, part: &str) -> Edit {
    let is_empty = body[range.start + 1..range.end - 1].trim().is_empty();
    let comma = if is_empty { "" } else { "," };
    // Before the bracket that closes the list.
    Edit::insert(range.end - 1, format!("{comma}{part}"))
}

/// Returns a part of a message with this text. `kind` is its type.
pub(super) fn text_part(kind: &str, text: &str) -> String {
    format!(r#"{{"type":"{kind}","text":{}}}"#, json_string(text))
}

/// Returns the range of a value in the text that contains it.
pub(super) fn range_of(text: &str, raw: &RawValue) -> Range<usize> {
    let start = raw.get().as_ptr() as usize - text.as_ptr() as usize;
    start..start + raw.get().len()
}

/// Returns the texts of a content, which is a string or a list of parts. Parts without text are skipped, and lone
/// surrogates are replaced.
pub(super) fn content_texts(raw: &str) -> Vec<String> {
    let raw: &str = &without_lone_surrogates(raw);
    match raw.as_bytes().first() {
        Some(b'"') => serde_json::from_str(raw).into_iter().collect(),
        Some(b'[') => {
            let parts: Vec<MessagePart> = serde_json::from_str(raw).unwrap_or_default();
            parts.into_iter().filter_map(|part| part.text).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the texts of a content, joined with line breaks.
pub(super) fn content_text(raw: &str) -> String {
    content_texts(raw).join("\n")
}

/// Returns true if the bytes are one JSON value.
pub(super) fn is_json(bytes: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(bytes).is_ok()
}
