//! JSON that services and clients send, as it is.

use std::{borrow::Cow, ops::Range};

use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, value::RawValue};

/// The code point that stands for a lone surrogate, as a JSON escape.
const REPLACEMENT: &str = "\\ufffd";

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

/// Returns the edit that appends a text part to the JSON list of parts in this range of a body.
pub(super) fn append_text_part(body: &str, range: Range<usize>, text: &str) -> Edit {
    let is_empty = body[range.start + 1..range.end - 1].trim().is_empty();
    let comma = if is_empty { "" } else { "," };
    // Before the bracket that closes the list.
    Edit::insert(range.end - 1, format!("{comma}{}", text_part(text)))
}

/// Returns a part of a message with this text.
pub(super) fn text_part(text: &str) -> String {
    format!(r#"{{"type":"text","text":{}}}"#, json_string(text))
}

/// Returns the range of a value in the text that contains it.
pub(super) fn range_of(text: &str, raw: &RawValue) -> Range<usize> {
    let start = raw.get().as_ptr() as usize - text.as_ptr() as usize;
    start..start + raw.get().len()
}

/// Returns the text of a content, which is a string or a list of parts. Parts without text are skipped, and lone
/// surrogates are replaced.
pub(super) fn content_text(raw: &str) -> String {
    let raw: &str = &without_lone_surrogates(raw);
    match raw.as_bytes().first() {
        Some(b'"') => serde_json::from_str(raw).unwrap_or_default(),
        Some(b'[') => {
            let parts: Vec<MessagePart> = serde_json::from_str(raw).unwrap_or_default();
            parts.into_iter().filter_map(|part| part.text).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// Returns true if the bytes are one JSON value.
pub(super) fn is_json(bytes: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(bytes).is_ok()
}

/// Replaces each escape of a lone surrogate in a JSON text, such as one half of an emoji, by U+FFFD. No string contains
/// a lone surrogate, so that a parser would refuse the whole text.
pub(super) fn without_lone_surrogates(json: &str) -> Cow<'_, str> {
    let mut replaced = String::new();
    let mut copied_to = 0;
    let mut position = 0;
    while let Some(offset) = json[position..].find('\\') {
        let escape = position + offset;
        let unit = utf16_unit(json, escape);
        let next = unit.and_then(|_| utf16_unit(json, escape + 6));
        position = match (unit, next) {
            (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => escape + 12,
            (Some(0xd800..0xe000), _) => {
                replaced.push_str(&json[copied_to..escape]);
                replaced.push_str(REPLACEMENT);
                copied_to = escape + 6;
                copied_to
            }
            (Some(_), _) => escape + 6,
            // Another escape: the character after the backslash is part of it.
            (None, _) => escape + 1 + json[escape + 1..].chars().next().map_or(0, char::len_utf8),
        };
    }
    if copied_to == 0 {
        return Cow::Borrowed(json);
    }
    replaced.push_str(&json[copied_to..]);
    Cow::Owned(replaced)
}

/// Returns the UTF-16 code unit of the escape `\uXXXX` at this position.
fn utf16_unit(json: &str, position: usize) -> Option<u16> {
    let digits = json.get(position..position + 6)?.strip_prefix("\\u")?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lone_surrogates_are_replaced() {
        for (json, expected) in [
            (r#""plain""#, r#""plain""#),
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""a\ud83d""#, r#""a\ufffd""#),
            (r#""\ude00\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\ud83d\ud83d\ude00x""#, r#""\ufffd\ud83d\ude00x""#),
            (r#""\\ud83d""#, r#""\\ud83d""#),
            (r#""\u00e9\n林\\""#, r#""\u00e9\n林\\""#),
            ("\\", "\\"),
        ] {
            assert_eq!(without_lone_surrogates(json), expected);
        }
    }
}
