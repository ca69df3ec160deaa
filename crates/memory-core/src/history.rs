//! The history of a record: its former texts and states, and the record as it was at a point in time.
//!
//! A record keeps its history in its metadata, so that it is exported, copied and deleted with the record.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use crate::{
    fact_keys,
    filter::{Field, Filter, Op},
    history_keys::{FORMER_STATES, REDACTED, STORE_KEYS, TEXT_KNOWN_SINCE, copy_history},
    record::{ContentHash, Kind, Record, State},
    time::Timestamp,
};

/// The metadata key of the former texts: a list of [`Edit`].
const EDITS: &str = "edits";
/// The key of the fact into which a fact was merged.
const MERGED_INTO: &str = "merged_into";
/// The keys that explain why a record is not active. A record that was active at a time did not have them.
const INACTIVITY_KEYS: [&str; 3] = [MERGED_INTO, "superseded_by", "retraction"];
/// The slots of facts that are known before they begin: the plans of a person.
const PLAN_SLOT_PREFIX: &str = "plan.";
/// Maximum number of former states kept with a record.
const MAX_FORMER_STATES: usize = 50;
/// Maximum number of hashes of redacted texts kept with a record.
const MAX_REDACTED: usize = 50;

/// A text that a record had before it was updated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Edit {
    /// The former text.
    pub text: String,
    /// The time of the update that replaced it.
    pub until: Timestamp,
}

impl Edit {
    /// Returns the former texts of a record whose text was updated, oldest first. At most 50 are kept, and only as many
    /// as leave the metadata at half of its maximum size.
    pub fn all_of(record: &Record) -> Vec<Self> {
        metadata_value(record, EDITS).unwrap_or_default()
    }

    /// Adds the current text of a record to its former texts, before it changes. Keeps at most `max_edits`, and at most
    /// as many as fit into `max_bytes` of JSON with the other metadata. The oldest are dropped first.
    pub fn push_current_text(record: &mut Record, until: Timestamp, max_edits: usize, max_bytes: usize) {
        let mut edits = Self::all_of(record);
        edits.push(Self { text: record.text.clone(), until });
        record.metadata.remove(EDITS);
        let other_bytes = json!(record.metadata).to_string().len();
        let max_bytes = max_bytes.saturating_sub(other_bytes);
        while edits.len() > max_edits || (!edits.is_empty() && json!(edits).to_string().len() > max_bytes) {
            edits.remove(0);
        }
        record.metadata.insert(EDITS.into(), json!(edits));
    }
}

/// The state and validity that a record had for some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FormerState {
    /// The state.
    pub state: State,
    /// The time from which it applied.
    pub since: Timestamp,
    /// The time until which it applied.
    pub until: Timestamp,
    /// The start of the validity, as it was known then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_from: Option<Timestamp>,
    /// The end of the validity, as it was known then. `None` for a fact that was merged into another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<Timestamp>,
}

impl FormerState {
    /// Returns the former states of a record, oldest first. At most the latest 50 are kept.
    pub fn all_of(record: &Record) -> Vec<Self> {
        metadata_value(record, FORMER_STATES).unwrap_or_default()
    }

    /// Returns the current state of a record, which applies from `since` until `until`.
    fn of(record: &Record, since: Timestamp, until: Timestamp) -> Self {
        let is_merged = record.state == State::Superseded && record.metadata.contains_key(MERGED_INTO);
        let valid_until = record.valid_until.filter(|_| !is_merged);
        Self { state: record.state, since, until, valid_from: record.valid_from, valid_until }
    }

    fn differs_from(&self, other: &Self) -> bool {
        (self.state, self.valid_from, self.valid_until) != (other.state, other.valid_from, other.valid_until)
    }

    /// Returns true if the record was current at this time: active, or superseded with a validity that had not ended.
    fn is_current(&self, at: Timestamp) -> bool {
        let has_not_ended = self.valid_until.is_none_or(|until| at < until);
        match self.state {
            State::Active => has_not_ended,
            State::Superseded => self.valid_until.is_some() && has_not_ended,
            State::Pending | State::Revoked | State::Deleted => false,
        }
    }
}

impl Record {
    /// Returns the record as it was at this time; `None` if it was not a current memory then.
    ///
    /// It was a current memory if all of these hold:
    /// - It was recorded at this time or before. An imported record has the [time](Self::recorded_at) of the import,
    ///   unless it was exported by this engine, which preserves the time of the first write.
    /// - It was neither retracted nor waiting for review. A retraction that was undone later still counts for the time
    ///   between.
    /// - It was not superseded, or its validity had not ended yet.
    /// - Its validity includes the time. A plan (a fact in a slot such as `plan.dentist`) also counts before it begins.
    /// - Its text at the time is known: see below.
    /// - It is not an entry of a [ledger](Kind::is_ledger).
    ///
    /// The returned record is active, and has the text and the validity of the time, and the
    /// [former texts](Edit::all_of) from before. Other fields have their present values.
    ///
    /// The text is known if it has not changed since, or was kept as an [`Edit`]. A text that was replaced by a new
    /// message with the same id, or a profile that was written again, is not kept: the record is then not visible at
    /// times before. Changes that were made before the engine recorded former states have no time: such a record is
    /// treated as if it always had its present state, apart from its validity.
    #[must_use]
    pub fn as_of(&self, at: Timestamp) -> Option<Self> {
        let is_unknown_text = metadata_value(self, TEXT_KNOWN_SINCE).is_some_and(|since: Timestamp| at < since);
        if self.kind.is_ledger() || at < self.recorded_at || is_unknown_text {
            return None;
        }
        let former_states = FormerState::all_of(self);
        if former_states.first().is_some_and(|first| at < first.since) {
            return None;
        }
        let former_state = former_states.into_iter().find(|former| at < former.until);
        let state = former_state.unwrap_or_else(|| FormerState::of(self, self.recorded_at, at));
        let has_begun = state.valid_from.is_none_or(|from| from <= at) || self.is_plan();
        if !state.is_current(at) || !has_begun {
            return None;
        }
        let mut record = self.clone();
        record.state = State::Active;
        record.valid_from = state.valid_from;
        record.valid_until = state.valid_until;
        for key in STORE_KEYS.iter().chain(&INACTIVITY_KEYS) {
            record.metadata.remove(*key);
        }
        let mut edits = Edit::all_of(self);
        if let Some(index) = edits.iter().position(|edit| at < edit.until) {
            record.text.clone_from(&edits[index].text);
            edits.truncate(index);
            match edits.is_empty() {
                true => record.metadata.remove(EDITS),
                false => record.metadata.insert(EDITS.into(), json!(edits)),
            };
        }
        Some(record)
    }

    /// Returns true if the record may have been different before: it is not active, or has a history.
    pub fn has_changed(&self) -> bool {
        let has_key = |key: &&str| self.metadata.contains_key(*key);
        self.state != State::Active || STORE_KEYS.iter().any(has_key) || has_key(&EDITS)
    }

    /// Returns true if the value of a metadata key is a term of the engine, such as a state or a polarity, and not the
    /// words of a person.
    pub fn is_term(&self, key: &str) -> bool {
        let is_term_of_fact = match key {
            fact_keys::SLOT => !self.is_plan(),
            fact_keys::POLARITY | fact_keys::CARDINALITY | fact_keys::TYPE | fact_keys::RULE => true,
            _ => false,
        };
        STORE_KEYS.contains(&key) || key == Self::ZONE_KEY || (self.kind == Kind::FACT && is_term_of_fact)
    }

    fn is_plan(&self) -> bool {
        let slot = self.metadata.get("slot").and_then(Value::as_str);
        self.kind == Kind::FACT && slot.is_some_and(|slot| slot.starts_with(PLAN_SLOT_PREFIX))
    }
}

/// Returns a filter for the records that were recorded at this time or before.
pub fn recorded_by(at: Timestamp) -> Filter {
    Filter::compare(Field::RecordedAt, Op::Le, at)
}

/// Returns a filter for the records with [`Record::has_changed`].
pub fn has_changed() -> Filter {
    let has_key = |key: &str| Filter::Exists(Field::meta(key));
    let keys = STORE_KEYS.iter().chain([&EDITS]).map(|key| has_key(key));
    Filter::Or(std::iter::once(Filter::ne(Field::State, State::Active.as_str())).chain(keys).collect())
}

/// Returns true for the metadata keys of the history. They belong to one record and are not copied to another one.
pub fn is_history_key(key: &str) -> bool {
    key == EDITS || STORE_KEYS.contains(&key)
}

/// Blocks texts of a record in which a value was replaced: a message that a client sends again does not bring them
/// back. At most the latest 50 are kept.
pub fn block_redacted(record: &mut Record, contents: &[ContentHash]) {
    let mut hashes: Vec<String> = metadata_value(record, REDACTED).unwrap_or_default();
    hashes.extend(contents.iter().map(ContentHash::to_string));
    hashes.drain(..hashes.len().saturating_sub(MAX_REDACTED));
    if !hashes.is_empty() {
        record.metadata.insert(REDACTED.into(), json!(hashes));
    }
}

/// Returns true if the new record has a text of the stored one in which a value was replaced.
pub(crate) fn is_redacted(old: &Record, new: &Record) -> bool {
    let hashes: Option<Vec<String>> = metadata_value(old, REDACTED);
    hashes.is_some_and(|hashes| hashes.contains(&new.content_hash().to_string()))
}

/// Gives the record that replaces a stored one the stored history, and adds what the write changes.
pub(crate) fn add_change(old: &Record, new: &mut Record, now: Timestamp) {
    copy_history(&old.metadata, &mut new.metadata);
    let edits = Edit::all_of(new);
    let is_text_kept = old.text == new.text || edits.last().is_some_and(|edit| edit.text == old.text);
    let lost_edits = Edit::all_of(old).into_iter().filter(|edit| !edits.contains(edit)).map(|edit| edit.until);
    let lost_until = if is_text_kept { lost_edits.max() } else { Some(now) };
    if let Some(until) = lost_until {
        let known_since = metadata_value(old, TEXT_KNOWN_SINCE).map_or(until, |since: Timestamp| since.max(until));
        new.metadata.insert(TEXT_KNOWN_SINCE.into(), json!(known_since));
    }
    let mut states = FormerState::all_of(old);
    let since = states.last().map_or(old.recorded_at, |last| last.until);
    let former = FormerState::of(old, since, now);
    if former.differs_from(&FormerState::of(new, since, now)) {
        states.push(former);
        let dropped = states.len().saturating_sub(MAX_FORMER_STATES);
        states.drain(..dropped);
        new.metadata.insert(FORMER_STATES.into(), json!(states));
    }
}

fn metadata_value<T: DeserializeOwned>(record: &Record, key: &str) -> Option<T> {
    let metadata: &Map<String, Value> = &record.metadata;
    serde_json::from_value(metadata.get(key)?.clone()).ok()
}

#[cfg(test)]
mod tests;
