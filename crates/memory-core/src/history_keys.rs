//! The metadata keys in which a store keeps the history of a record.

use serde_json::{Map, Value};

/// The time since which every text of the record is known.
pub(crate) const TEXT_KNOWN_SINCE: &str = "text_since";
/// The former states: a list of [`FormerState`](crate::history::FormerState).
pub(crate) const FORMER_STATES: &str = "former_states";
/// The hashes of the texts in which a value was replaced: a list of [`ContentHash`](crate::record::ContentHash).
pub(crate) const REDACTED: &str = "redacted";
/// The keys that only stores write.
pub(crate) const STORE_KEYS: [&str; 3] = [TEXT_KNOWN_SINCE, FORMER_STATES, REDACTED];

/// Gives the metadata the history of a stored record. A history that a caller wrote is dropped.
pub(crate) fn copy_history(stored: &Map<String, Value>, metadata: &mut Map<String, Value>) {
    for key in STORE_KEYS {
        match stored.get(key) {
            Some(value) => _ = metadata.insert(key.into(), value.clone()),
            None => _ = metadata.remove(key),
        }
    }
}
