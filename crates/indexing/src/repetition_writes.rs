//! Writes that count the messages which a program repeats, instead of storing them.

use std::{collections::BTreeMap, time::Duration};

use memory_engine_core::{
    Error, ErrorKind, Field, Filter, Kind, Outcome, PutMode, Record, RecordId, Result, Role, ScanQuery, Scope, State,
    Write, WriteResult,
    retry::{WRITE_ATTEMPTS, retry_on_conflict},
};

use crate::{
    repetitions::{STORED_PER_DAY, count_repetition, is_countable, is_user_turn, message_of, repetitions},
    store::IndexedStore,
};

/// Maximum time between the record of a message and its write. Records that are older are copied or imported.
const MAX_DELAY: Duration = Duration::from_secs(60);
/// Maximum number of messages of a day that are read when its first one is written.
const MAX_READ_TURNS: usize = 1000;
/// Maximum number of other messages of a session that are compared.
const MAX_SESSION_TURNS: usize = 20;

fn turn_was_deleted() -> Error {
    Error::new(ErrorKind::Conflict, "put", "the turn that counts a message was deleted")
}

/// The writes of a batch that are counted instead, by their index, with the turn that counts them.
type CountedWrites = BTreeMap<usize, RecordId>;

impl IndexedStore {
    /// Writes records, and counts those that repeat a message of the day.
    pub(crate) async fn put_counted(&self, scope: &Scope, writes: Vec<Write>) -> Result<Vec<WriteResult>> {
        // The store refuses a write outside of the scope, and logs that. The caller must not learn whether it repeats.
        let is_refused = writes.iter().any(|write| !scope.covers(&write.record.scope));
        if is_refused || self.find_counted(&writes).await?.is_empty() {
            return self.put(scope, writes).await;
        }
        retry_on_conflict(WRITE_ATTEMPTS, || async {
            self.try_put_counted(scope, &writes, &self.find_counted(&writes).await?).await
        })
        .await
    }

    async fn try_put_counted(
        &self,
        scope: &Scope,
        writes: &[Write],
        counted: &CountedWrites,
    ) -> Result<Vec<WriteResult>> {
        let mut batch: Vec<Write> = Vec::new();
        let mut turns: BTreeMap<RecordId, Record> = BTreeMap::new();
        for (index, write) in writes.iter().enumerate() {
            let Some(turn) = counted.get(&index) else {
                batch.push(write.clone());
                continue;
            };
            if !is_user_turn(&write.record) {
                continue;
            }
            let turn = match turns.remove(turn) {
                Some(turn) => Some(turn),
                None => self.get(&write.record.scope.namespace(), *turn).await?,
            };
            let mut turn = turn.ok_or_else(turn_was_deleted)?;
            count_repetition(&mut turn, STORED_PER_DAY as u64, write.record.occurred_at, write.record.id);
            turns.insert(turn.id, turn);
        }
        // The turn that counts a message may be in another session.
        let scope = scope.user_name().map_or_else(|| scope.clone(), |_| scope.namespace());
        let stored = batch.len();
        batch.extend(turns.into_values().map(|turn| {
            let revision = turn.revision;
            Write::new(turn, PutMode::Update { revision })
        }));
        let mut written = self.put(&scope, batch).await?;
        let turns = written.split_off(stored);
        if turns.iter().any(|turn| matches!(turn.outcome, Outcome::Blocked(_))) {
            return Err(turn_was_deleted());
        }
        let mut written = written.into_iter();
        let result = |index: usize| match counted.get(&index) {
            None => written.next(),
            Some(id) => {
                let revision = turns.iter().find(|turn| turn.id == *id).map_or(0, |turn| turn.revision);
                Some(WriteResult::new(*id, Outcome::Counted, revision, Vec::new()))
            }
        };
        Ok((0..writes.len()).filter_map(result).collect())
    }

    /// Returns the writes that are counted: those that repeat a message, and the replies to them.
    async fn find_counted(&self, writes: &[Write]) -> Result<CountedWrites> {
        let mut counted = CountedWrites::new();
        let mut counted_sessions: BTreeMap<&Scope, RecordId> = BTreeMap::new();
        for (index, write) in writes.iter().enumerate() {
            let record = &write.record;
            let is_new = !matches!(write.mode, PutMode::Update { .. } | PutMode::Replica { .. });
            if is_new && record.role == Some(Role::ASSISTANT) && record.kind == Kind::TURN {
                counted.extend(counted_sessions.get(&record.scope).map(|turn| (index, *turn)));
            } else if is_user_turn(record) {
                counted_sessions.remove(&record.scope);
                let says_more = writes.iter().any(|other| is_other_message(&other.record, record));
                if is_new
                    && !says_more
                    && let Some(turn) = self.find_repeated(record).await?
                {
                    counted.insert(index, turn);
                    counted_sessions.insert(&record.scope, turn);
                }
            }
        }
        Ok(counted)
    }

    /// Returns the stored turn that counts this message; `None` if the message is stored.
    async fn find_repeated(&self, record: &Record) -> Result<Option<RecordId>> {
        let now = self.clock().now();
        let zone = record.zone().unwrap_or_else(|| self.analysis().zone().clone());
        let today = now.in_zone(&zone).date();
        let is_said_now =
            record.occurred_at.in_zone(&zone).date() == today && record.recorded_at.after(MAX_DELAY) >= now;
        if !is_said_now || !is_countable(record) {
            return Ok(None);
        }
        let said_today = Filter::eq(Field::Kind, Kind::TURN.as_str())
            .and(Filter::eq(Field::Role, Role::USER.as_str()))
            .and(Filter::eq(Field::State, State::Active.as_str()))
            .and(Filter::on_day(today, &zone));
        let user = record.scope.namespace();
        if !self.repetition_cache().has(&user, today) {
            let query = ScanQuery::newest(MAX_READ_TURNS).with_filter(said_today.clone());
            let page = self.scan_unexpired(&user, &query).await?;
            self.repetition_cache().insert(&user, today, page.records.iter().rev());
        }
        let Some(equal) = self.repetition_cache().add_or_get(&user, record) else { return Ok(None) };
        let stored = self.get_all(&user, &[&equal[..], &[record.id]].concat()).await?;
        let mut stored: Vec<Record> = stored.into_iter().flatten().filter(is_user_turn).collect();
        let is_stored = stored.iter().any(|turn| turn.id == record.id);
        if is_stored || self.has_other_words(record, said_today).await? {
            return Ok(None);
        }
        let message = message_of(record);
        stored.retain(|turn| message_of(turn) == message);
        if stored.len() < STORED_PER_DAY {
            // Some were deleted or edited, or could not be stored.
            let ids = stored.iter().map(|turn| turn.id).chain([record.id]).collect();
            self.repetition_cache().set(&user, message, ids);
            return Ok(None);
        }
        Ok(stored.iter().min_by_key(|turn| (repetitions(turn).is_none(), turn.position())).map(|turn| turn.id))
    }

    /// Returns true if the session of a message has other words of the user among these.
    async fn has_other_words(&self, record: &Record, said_today: Filter) -> Result<bool> {
        if record.scope.session().is_none() {
            return Ok(false);
        }
        let query = ScanQuery::newest(MAX_SESSION_TURNS).with_filter(said_today);
        let turns = self.scan_unexpired(&record.scope, &query).await?.records;
        Ok(turns.iter().any(|turn| turn.content_hash() != record.content_hash()))
    }
}

/// Returns true if the user says something else in the same session.
fn is_other_message(other: &Record, record: &Record) -> bool {
    record.scope.session().is_some()
        && is_user_turn(other)
        && other.scope == record.scope
        && other.content_hash() != record.content_hash()
}
