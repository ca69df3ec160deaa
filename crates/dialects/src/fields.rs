//! Reading of the fields of a request.

use serde_json::{Map, Value, json};

use crate::error::DialectError;

/// The treatment of a field.
#[derive(Clone, Copy)]
pub(crate) enum Fate {
    /// The field is converted by code of its own.
    Converted,
    /// The field keeps its name and value.
    Copied,
    /// The field is a hint without effect on the content of the reply.
    Dropped,
    /// The field has no counterpart. The text says what to do.
    Refused(&'static str),
}

/// Copies the fields of `object` marked as copied and returns an error for refused and unknown fields.
/// A field that is null or absent is ignored.
pub(crate) fn copy_fields(
    object: &Map<String, Value>,
    path: &str,
    fates: &[(&str, Fate)],
) -> Result<Map<String, Value>, DialectError> {
    let mut copied = Map::new();
    for (key, value) in object.iter().filter(|(_, value)| !value.is_null()) {
        match fates.iter().find(|(name, _)| name == key).map(|(_, fate)| *fate) {
            Some(Fate::Copied) => {
                copied.insert(key.clone(), value.clone());
            }
            Some(Fate::Converted | Fate::Dropped) => {}
            Some(Fate::Refused(advice)) => return Err(DialectError::unsupported(join(path, key), advice)),
            None => return Err(DialectError::unsupported(join(path, key), "the field is unknown, remove it")),
        }
    }
    Ok(copied)
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// Returns the field, or nothing if it is absent or null.
pub(crate) fn optional<'a>(object: &'a Value, key: &str) -> Option<&'a Value> {
    object.get(key).filter(|value| !value.is_null())
}

pub(crate) fn as_object<'a>(value: &'a Value, path: &str) -> Result<&'a Map<String, Value>, DialectError> {
    value.as_object().ok_or_else(|| DialectError::invalid(path, "an object"))
}

pub(crate) fn as_array<'a>(value: &'a Value, path: &str) -> Result<&'a Vec<Value>, DialectError> {
    value.as_array().ok_or_else(|| DialectError::invalid(path, "an array"))
}

pub(crate) fn as_text<'a>(value: &'a Value, path: &str) -> Result<&'a str, DialectError> {
    value.as_str().ok_or_else(|| DialectError::invalid(path, "a string"))
}

/// Returns the string in the field `key` of `object`.
pub(crate) fn text_field<'a>(object: &'a Value, key: &str, path: &str) -> Result<&'a str, DialectError> {
    as_text(&object[key], &join(path, key))
}

/// Sets `stream`, and asks for the usage at the end of a stream.
pub(crate) fn set_stream(request: &Value, chat: &mut Map<String, Value>) -> Result<(), DialectError> {
    let Some(stream) = optional(request, "stream") else { return Ok(()) };
    let is_stream = stream.as_bool().ok_or_else(|| DialectError::invalid("stream", "true or false"))?;
    chat.insert("stream".to_owned(), json!(is_stream));
    if is_stream {
        chat.insert("stream_options".to_owned(), json!({"include_usage": true}));
    }
    Ok(())
}

/// Copies the fields named in `keys` that are present.
pub(crate) fn pick(object: &Value, keys: &[&str]) -> Map<String, Value> {
    keys.iter().filter_map(|key| Some(((*key).to_owned(), optional(object, key)?.clone()))).collect()
}

/// A content of parts as one string if all parts are text, else as a list.
pub(crate) fn user_content(parts: Vec<Value>) -> Value {
    match parts.as_slice() {
        [part] if part["type"] == "text" => part["text"].clone(),
        _ => Value::Array(parts),
    }
}
