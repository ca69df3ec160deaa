//! A turn, as it is stored.

use std::sync::Arc;

use memory_engine::{Clock, Kind, Record, RecordId, Role, Scope, State, Timestamp, Trust, admin::REQUEST_ID};
use serde_json::{Map, Value, json};

use super::thread::{Exchange, TurnKey};

/// The metadata key of a record's turn.
pub(super) const TURN_KEY: &str = "turn";
/// The metadata key of the exchange before the turn.
pub(super) const FOLLOWS: &str = "follows";

/// A turn to be stored: what the person said, and the reply.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    pub(super) address: Scope,
    pub(super) key: TurnKey,
    pub(super) said: Exchange,
    /// The exchange before it, as the client has it now.
    pub(super) before: Option<Exchange>,
    pub(super) scene: Option<String>,
    pub(super) model: Option<String>,
    /// The memories that were injected.
    pub(super) injected: Vec<RecordId>,
    /// The reason why the reply is incomplete; `None` if it is complete.
    pub(super) partial: Option<&'static str>,
    /// The time of the user's message.
    pub(super) asked_at: Timestamp,
    /// The time at which the reply ended, which may be long before it can be stored.
    pub(super) answered_at: Option<Timestamp>,
    pub(super) clock: Arc<dyn Clock>,
    /// The id of the request that it came with, for the log.
    pub(super) request: Option<String>,
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
    /// The round that the turn has, or would have by the one before it.
    pub(super) fn round(&self) -> Option<u32> {
        let round = |record: &Option<Record>| record.as_ref().and_then(|record| record.source.round);
        let own = round(&self.user).or_else(|| round(&self.reply));
        own.or_else(|| Some(round(&self.parent_user).or_else(|| round(&self.parent_reply))? + 1))
    }
}

/// The ids of what the person said and of the reply. The same turn again is the same records.
pub(super) fn ids(address: &Scope, key: &str) -> [RecordId; 2] {
    ["user", "assistant"].map(|role| RecordId::named(address, &format!("gateway/{key}/{role}")))
}

impl Turn {
    /// The id of the request that it came with; empty where it has none.
    pub(super) fn request(&self) -> &str {
        self.request.as_deref().unwrap_or_default()
    }

    /// The records to be written, given what is there: those that say something new. A new reply takes the old one's
    /// place, and what was made from the old one goes with it. The reply before is made to say what the client shows
    /// of it.
    pub(super) fn records(&self, stored: StoredTurn, round: u32) -> Vec<Record> {
        let [user, reply] = ids(&self.address, &self.key.key);
        let mut records = Vec::new();
        if let (Some(mut old), Some(shown)) =
            (stored.parent_reply, self.before.as_ref().map(|before| &before.assistant))
            && old.state == State::Active
            && !shown.is_empty()
            && differs(&old, shown)
        {
            old.text = cut(shown).to_owned();
            old.metadata.shift_remove("partial");
            old.metadata.insert("edited".into(), json!(true));
            records.push(old);
        }
        let mut about = Map::from_iter([(TURN_KEY.to_owned(), json!(self.key.key))]);
        if let Some(follows) = &self.key.follows {
            about.insert(FOLLOWS.into(), json!(follows));
        }
        if let Some(request) = &self.request {
            about.insert(REQUEST_ID.into(), json!(request));
        }
        let user_at = stored.user.as_ref().map_or(self.asked_at, |old| old.occurred_at);
        let says_new = |old: &Option<Record>, text: &str| {
            !text.is_empty() && old.as_ref().is_none_or(|old| old.state != State::Active || differs(old, text))
        };
        if says_new(&stored.user, &self.said.user) {
            let mut record = self.record(user, Role::USER, &self.said.user, round);
            record.occurred_at = user_at;
            record.trust = Trust::User;
            record.metadata = about.clone();
            records.push(record);
        }
        if says_new(&stored.reply, &self.said.assistant) {
            let mut record = self.record(reply, Role::ASSISTANT, &self.said.assistant, round);
            let now = self.answered_at.unwrap_or_else(|| self.clock.now()).max(self.asked_at);
            record.occurred_at = stored.reply.map_or(now, |old| old.occurred_at).max(user_at);
            record.trust = Trust::Assistant;
            record.metadata = about;
            let mut note = |key: &str, value: Option<Value>| {
                if let Some(value) = value {
                    record.metadata.insert(key.to_owned(), value);
                }
            };
            note("model", self.model.as_ref().map(|model| json!(model)));
            note("partial", self.partial.map(|why| json!(why)));
            note("injected", Some(json!(self.injected)).filter(|_| !self.injected.is_empty()));
            records.push(record);
        }
        records
    }

    fn record(&self, id: RecordId, role: Role, text: &str, round: u32) -> Record {
        let mut record = Record::new(self.address.clone(), Kind::TURN, cut(text), self.clock.as_ref());
        let is_reply = i64::from(role == Role::ASSISTANT);
        record.id = id;
        record.role = Some(role);
        record.scene = self.scene.clone();
        record.source.round = Some(round);
        record.source.sequence = Some(i64::from(round) * 2 - 1 + is_reply);
        record
    }
}

/// Returns true if the text of a record differs.
fn differs(record: &Record, text: &str) -> bool {
    record.content_hash() != memory_engine::store::ContentHash::of(cut(text))
}

/// Cuts a text to the maximum length of a record.
fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(Record::MAX_TEXT_BYTES)]
}

#[cfg(test)]
mod tests;
