//! Values of the keys of an object.

use serde_json::{Map, Value};

use crate::row::is_blank;

/// Returns the text of a key. `None` if it is blank, or no text.
pub(super) fn text<'k>(keys: &'k Map<String, Value>, name: &str) -> Option<&'k str> {
    keys.get(name)?.as_str().filter(|text| !text.trim().is_empty())
}

/// Returns the first of these times that is set.
pub(super) fn time(keys: &Map<String, Value>, names: &[&str]) -> Value {
    names.iter().filter_map(|name| keys.get(*name)).find(|value| !is_blank(value)).cloned().unwrap_or_default()
}
