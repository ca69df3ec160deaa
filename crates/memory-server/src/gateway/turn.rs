//! The records of a turn.

use std::sync::Arc;

use memory_engine::{
    Clock, Kind, MemoryEngine, Record, RecordId, Role, Scope, State, Timestamp, Trust,
    admin::REQUEST_ID,
    store::{ContentHash, count_repetition, is_countable},
};
use serde_json::{Map, Value, json};

use super::thread::{Exchange, TurnKey};

/// The metadata key of a record's turn.
pub(super) const TURN_KEY: &str = "turn";
/// The metadata key of the scene of the session after the turn, if that differs from the scene of the turn: a label.
pub(super) const SESSION_SCENE: &str = "session_scene";
/// The metadata key of the exchange before the turn.
pub(super) const FOLLOWS: &str = "follows";

/// A turn to be stored: the user's message and the reply.
#[derive(Debug, Clone)]
pub(super) struct ChatTurn {
    pub(super) address: Scope,
    pub(super) key: TurnKey,
    pub(super) exchange: Exchange,
    /// The exchange before it, as the client sent it.
    pub(super) previous: Option<Exchange>,
    pub(super) scene: Option<String>,
    /// The scene of the session after the message.
    pub(super) session_scene: Option<String>,
    pub(super) model: Option<String>,
    /// The memories that were injected.
    pub(super) injected: Vec<RecordId>,
    /// The reason why the reply is incomplete; `None` if it is complete.
    pub(super) partial_reason: Option<&'static str>,
    /// The time of the user's message.
    pub(super) asked_at: Timestamp,
    /// The time at which the reply ended, which may be long before it can be stored.
    pub(super) answered_at: Option<Timestamp>,
    pub(super) clock: Arc<dyn Clock>,
    /// The id of its request, for the log.
    pub(super) request_id: Option<String>,
}

/// The stored records of a turn and of the one before it.
#[derive(Debug, Default)]
pub(super) struct StoredTurn {
    pub(super) user: Option<Record>,
    pub(super) reply: Option<Record>,
    pub(super) parent_user: Option<Record>,
    pub(super) parent_reply: Option<Record>,
}

impl StoredTurn {
    /// Returns the stored round of the turn, or else the round after the turn before it; `None` if neither is stored.
    pub(super) fn round(&self) -> Option<u32> {
        let round = |record: &Option<Record>| record.as_ref().and_then(|record| record.source.round);
        let own = round(&self.user).or_else(|| round(&self.reply));
        own.or_else(|| Some(round(&self.parent_user).or_else(|| round(&self.parent_reply))? + 1))
    }
}

/// Returns the ids of the user's message and of the reply. A repeated turn has the same ids.
pub(super) fn record_ids(address: &Scope, key: &str) -> [RecordId; 2] {
    ["user", "assistant"].map(|role| RecordId::named(address, &format!("gateway/{key}/{role}")))
}

impl ChatTurn {
    /// Returns the id of its request, or an empty string.
    pub(super) fn request_id(&self) -> &str {
        self.request_id.as_deref().unwrap_or_default()
    }

    /// Masks the secrets of the texts, so that a turn that waits to be stored again holds none.
    pub(super) fn mask_secrets(&mut self, engine: &MemoryEngine) {
        for exchange in [Some(&mut self.exchange), self.previous.as_mut()].into_iter().flatten() {
            exchange.user = engine.screening().mask(std::mem::take(&mut exchange.user));
            exchange.assistant = engine.screening().mask(std::mem::take(&mut exchange.assistant));
        }
    }

    /// Returns the records to write, given the stored ones. Unchanged records are left out. A new reply replaces the
    /// old one. If the client has edited the reply before this turn, that one is updated as well.
    pub(super) fn records(&self, stored: StoredTurn, round: u32) -> Vec<Record> {
        let [user_id, reply_id] = record_ids(&self.address, &self.key.key);
        let mut records = Vec::new();
        records.extend(self.edited_parent_reply(stored.parent_reply));
        let asked_at = stored.user.as_ref().map_or(self.asked_at, |old| old.occurred_at);
        if needs_write(stored.user.as_ref(), &self.exchange.user) {
            let mut record = self.record(user_id, Role::USER, &self.exchange.user, round);
            record.occurred_at = asked_at;
            record.trust = Trust::User;
            record.metadata = self.metadata();
            records.push(record);
        } else if let Some(mut sent_before) = stored.user.filter(|_| stored.reply.is_some() && self.begins_chat())
            && sent_before.metadata.get(REQUEST_ID).and_then(Value::as_str) != self.request_id.as_deref()
            && is_countable(&sent_before)
        {
            // A script without a session, or a client that wants another reply. The turn has one reply: the latest.
            count_repetition(&mut sent_before, 1, self.asked_at, user_id);
            records.push(sent_before);
        }
        if needs_write(stored.reply.as_ref(), &self.exchange.assistant) {
            let mut record = self.record(reply_id, Role::ASSISTANT, &self.exchange.assistant, round);
            let answered_at = self.answered_at.unwrap_or_else(|| self.clock.now()).max(self.asked_at);
            record.occurred_at = stored.reply.map_or(answered_at, |old| old.occurred_at).max(asked_at);
            record.trust = Trust::Assistant;
            record.metadata = self.reply_metadata();
            records.push(record);
        }
        records
    }

    fn begins_chat(&self) -> bool {
        self.key.follows.is_none() && self.partial_reason.is_none()
    }

    /// Returns the stored reply before this turn with the text that the client sent, if that differs.
    fn edited_parent_reply(&self, stored: Option<Record>) -> Option<Record> {
        let mut reply = stored.filter(|reply| reply.state == State::Active)?;
        let text = self.previous.as_ref().map(|previous| &previous.assistant).filter(|text| !text.is_empty())?;
        reply.metadata.shift_remove("partial");
        with_text(reply, text)
    }

    fn metadata(&self) -> Map<String, Value> {
        let mut metadata = Map::from_iter([(TURN_KEY.to_owned(), json!(self.key.key))]);
        if let Some(follows) = &self.key.follows {
            metadata.insert(FOLLOWS.into(), json!(follows));
        }
        if let Some(scene) = self.session_scene.as_ref().filter(|_| self.session_scene != self.scene) {
            metadata.insert(SESSION_SCENE.into(), json!(scene));
        }
        if let Some(request_id) = &self.request_id {
            metadata.insert(REQUEST_ID.into(), json!(request_id));
        }
        metadata
    }

    fn reply_metadata(&self) -> Map<String, Value> {
        let mut metadata = self.metadata();
        if let Some(model) = &self.model {
            metadata.insert("model".into(), json!(model));
        }
        if let Some(reason) = self.partial_reason {
            metadata.insert("partial".into(), json!(reason));
        }
        if !self.injected.is_empty() {
            metadata.insert("injected".into(), json!(self.injected));
        }
        metadata
    }

    fn record(&self, id: RecordId, role: Role, text: &str, round: u32) -> Record {
        let mut record = Record::new(self.address.clone(), Kind::TURN, truncated(text), self.clock.as_ref());
        let reply_sequence = i64::from(round) * 2;
        let sequence = if role == Role::ASSISTANT { reply_sequence } else { reply_sequence - 1 };
        record.id = id;
        record.role = Some(role);
        record.scene = self.scene.clone();
        record.source.round = Some(round);
        record.source.sequence = Some(sequence);
        record
    }
}

/// Returns a stored message with the text that the client has given it; `None` if that is its text.
pub(super) fn with_text(mut record: Record, text: &str) -> Option<Record> {
    if !differs(&record, text) {
        return None;
    }
    record.text = truncated(text).to_owned();
    record.metadata.insert("edited".into(), json!(true));
    Some(record)
}

/// Returns true if the text is not empty, and not that of the stored record while that is active.
fn needs_write(stored: Option<&Record>, text: &str) -> bool {
    !text.is_empty() && stored.is_none_or(|record| record.state != State::Active || differs(record, text))
}

/// Returns true if the record has another text.
fn differs(record: &Record, text: &str) -> bool {
    record.content_hash() != ContentHash::of(truncated(text))
}

/// Truncates a text to the maximum length of a record.
fn truncated(text: &str) -> &str {
    &text[..text.floor_char_boundary(Record::MAX_TEXT_BYTES)]
}

#[cfg(test)]
mod tests;
