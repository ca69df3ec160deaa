//! Messages that a program sends again and again, such as the prompt of a scheduled task: after the first ones of a day
//! they are counted and not stored.
//!
//! A message is counted if all of these hold, so that no words of a real conversation are lost:
//! - It is a turn of the role `user`, said today in its own time zone, and has at least [`MIN_WEIGHT`].
//! - The same speaker has said the same to the same agent today, and [`STORED_PER_DAY`] such turns are stored.
//! - Its session has no other words of that role today. A user who repeats a request in a chat talks; a program opens a
//!   session for each run, or has one that contains nothing else. Messages outside of a session need no such check.

use std::collections::BTreeMap;

use jiff::civil::Date;
use memory_engine_core::{
    ContentHash, Kind, Record, RecordId, Role, Scope, State, Timestamp, sync::Mutex, text::is_han,
};
use serde_json::{Value, json};

/// Number of equal messages of a day that are stored.
pub(crate) const STORED_PER_DAY: usize = 3;
/// Minimum weight of a message that is counted: 20 letters or 8 Chinese characters.
const MIN_WEIGHT: usize = 40;
const LETTER_WEIGHT: usize = 2;
const HAN_WEIGHT: usize = 5;
/// Maximum number of users and of messages of a user whose turns are cached. Beyond it the cache is emptied, and up to
/// [`STORED_PER_DAY`] more of each message are stored.
const CACHE_MAX_USERS: usize = 1000;
const CACHE_MAX_MESSAGES: usize = 10_000;

/// The metadata key of a turn that was said more often than it is stored: an object with the `count` of the day, and
/// time and id of the `last` one.
pub const REPETITIONS: &str = "repetitions";

/// The agent, the speaker and the text of a message. Two messages with the same key repeat each other.
pub type MessageKey = (Option<String>, Option<String>, ContentHash);

/// The stored turns of the current day, by user.
#[derive(Debug, Default)]
pub(crate) struct RepetitionCache(Mutex<BTreeMap<Scope, DayTurns>>);

/// The stored turns of a user's day, at most [`STORED_PER_DAY`] per message.
#[derive(Debug)]
struct DayTurns {
    day: Date,
    stored: BTreeMap<MessageKey, Vec<RecordId>>,
}

impl DayTurns {
    fn add(&mut self, record: &Record) {
        let ids = self.stored.entry(message_of(record)).or_default();
        if ids.len() < STORED_PER_DAY && !ids.contains(&record.id) {
            ids.push(record.id);
        }
    }
}

impl RepetitionCache {
    pub(crate) fn has(&self, user: &Scope, day: Date) -> bool {
        self.0.lock().get(user).is_some_and(|turns| turns.day == day)
    }

    /// Caches the turns of a user's day, oldest first.
    pub(crate) fn insert<'r>(&self, user: &Scope, day: Date, records: impl Iterator<Item = &'r Record>) {
        let mut turns = DayTurns { day, stored: BTreeMap::new() };
        records.filter(|turn| is_countable(turn) && turn.scope.namespace() == *user).for_each(|turn| turns.add(turn));
        let mut cache = self.0.lock();
        if cache.len() >= CACHE_MAX_USERS && !cache.contains_key(user) {
            cache.clear();
        }
        cache.insert(user.clone(), turns);
    }

    /// Returns the stored turns of a message if there are enough to count it. Otherwise adds the turn of this one.
    pub(crate) fn add_or_get(&self, user: &Scope, record: &Record) -> Option<Vec<RecordId>> {
        let mut cache = self.0.lock();
        let turns = cache.get_mut(user)?;
        let equal = turns.stored.get(&message_of(record)).filter(|ids| ids.len() >= STORED_PER_DAY);
        if let Some(equal) = equal.filter(|ids| !ids.contains(&record.id)) {
            return Some(equal.clone());
        }
        if turns.stored.len() >= CACHE_MAX_MESSAGES && !turns.stored.contains_key(&message_of(record)) {
            turns.stored.clear();
        }
        turns.add(record);
        None
    }

    pub(crate) fn set(&self, user: &Scope, message: MessageKey, ids: Vec<RecordId>) {
        if let Some(turns) = self.0.lock().get_mut(user) {
            turns.stored.insert(message, ids);
        }
    }
}

/// Returns the key of the message of a turn.
pub fn message_of(record: &Record) -> MessageKey {
    (record.scope.agent().map(str::to_owned), record.speaker.clone(), record.content_hash())
}

/// Returns true if a message of the user is long enough to be counted. Short ones, such as "go on", belong to real
/// conversations.
pub fn is_countable(record: &Record) -> bool {
    let weight = |c: char| if is_han(c) { HAN_WEIGHT } else { LETTER_WEIGHT };
    is_user_turn(record) && record.text.trim().chars().map(weight).sum::<usize>() >= MIN_WEIGHT
}

pub(crate) fn is_user_turn(record: &Record) -> bool {
    record.kind == Kind::TURN && record.role == Some(Role::USER) && record.state == State::Active
}

/// Adds a message to the count of a stored turn, of which `stored` equal ones are stored. A message that is not later
/// than the last one was counted already: a client may send it twice.
pub fn count_repetition(turn: &mut Record, stored: u64, said_at: Timestamp, id: RecordId) {
    let former = turn.metadata.get(REPETITIONS);
    let last = former.and_then(|former| Some((former["last"].as_str()?.parse().ok()?, former["id"].as_str()?)));
    if last.is_some_and(|(at, last_id): (Timestamp, &str)| (said_at, id.to_string().as_str()) <= (at, last_id)) {
        return;
    }
    let count = former.and_then(|former| former["count"].as_u64()).unwrap_or(stored) + 1;
    turn.metadata.insert(REPETITIONS.into(), json!({ "count": count, "last": said_at, "id": id }));
}

/// Returns the number of times that a turn was said on its day, if it was counted.
pub fn repetitions(turn: &Record) -> Option<u64> {
    turn.metadata.get(REPETITIONS)?.get("count").and_then(Value::as_u64)
}
