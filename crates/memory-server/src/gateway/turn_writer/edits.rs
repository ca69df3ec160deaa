//! Retracts the turns that a client removes by editing its history.

use std::collections::BTreeSet;

use memory_engine::{Field, Filter, Kind, Record, RecordId, Result, Role, ScanQuery, State};

use super::worker::TurnWorker;
use crate::gateway::{
    thread::{Exchange, exchange_key},
    turn::{FOLLOWS, StoredTurn, TURN_KEY, Turn},
};

/// The reason of these retractions in the engine's ledger.
const EDIT_REASON: &str = "edited in the chat";
/// Maximum number of turns of a session that are searched.
const MAX_SCANNED: usize = 1000;
/// Maximum number of retractions of a session that are read.
const MAX_RETRACTIONS: usize = 200;

impl TurnWorker {
    /// Retracts the other turns that follow the same exchange as this one, and all turns after them. Retractions can be
    /// restored. The first turn of a history follows no exchange, so that a new conversation in an old session retracts
    /// nothing.
    pub(super) async fn take_back_left_behind(&self, turn: &Turn) -> Result<()> {
        let Some(follows) = turn.key.follows.as_deref() else { return Ok(()) };
        let later = Filter::eq(Field::Kind, Kind::TURN.as_str()).and(Filter::eq(Field::State, State::Active.as_str()));
        let page = self.engine.scan(&turn.address, &ScanQuery::newest(MAX_SCANNED).with_filter(later)).await?;
        let left = left_behind(&page.records, &turn.key.key, follows);
        if !left.is_empty() {
            self.engine.retract(&turn.address, &left, EDIT_REASON).await?;
        }
        Ok(())
    }

    /// Returns the records of a turn that someone else has retracted. They must stay retracted when the turn is
    /// repeated. Records that the gateway has retracted are restored with their turn.
    pub(super) async fn taken_back_by_others(&self, turn: &Turn, stored: &StoredTurn) -> Result<Vec<RecordId>> {
        let revoked = |record: &&Record| record.state == State::Revoked;
        let revoked: Vec<&Record> = [&stored.user, &stored.reply].into_iter().flatten().filter(revoked).collect();
        if revoked.is_empty() {
            return Ok(Vec::new());
        }
        let ours = self.engine.retractions(&turn.address, MAX_RETRACTIONS).await?;
        let ours: BTreeSet<RecordId> =
            ours.into_iter().filter(|taken| taken.reason == EDIT_REASON).flat_map(|taken| taken.records).collect();
        let says = |record: &Record| match record.role == Some(Role::ASSISTANT) {
            true => turn.said.assistant.as_str(),
            false => turn.said.user.as_str(),
        };
        // A new reply is not the reply that was retracted.
        let same = |record: &&&Record| record.content_hash() == memory_engine::store::ContentHash::of(says(record));
        Ok(revoked.iter().filter(same).map(|record| record.id).filter(|id| !ours.contains(id)).collect())
    }
}

/// Returns the records of other turns that follow the same exchange, and of all turns after them.
fn left_behind(records: &[Record], key: &str, follows: &str) -> Vec<RecordId> {
    let noted = |record: &Record, name: &str| record.metadata.get(name).and_then(|v| v.as_str()).map(str::to_owned);
    let mut exchanges: BTreeSet<String> = BTreeSet::from([follows.to_owned()]);
    let mut left: Vec<RecordId> = Vec::new();
    let mut turns: BTreeSet<String> = BTreeSet::new();
    loop {
        let follower = |record: &&Record| {
            let turn = noted(record, TURN_KEY);
            noted(record, FOLLOWS).is_some_and(|follows| exchanges.contains(&follows))
                && turn.as_deref() != Some(key)
                && turn.is_some_and(|turn| !turns.contains(&turn))
        };
        let found: BTreeSet<String> =
            records.iter().filter(follower).filter_map(|record| noted(record, TURN_KEY)).collect();
        if found.is_empty() {
            return left;
        }
        for turn in found {
            let of_turn: Vec<&Record> =
                records.iter().filter(|record| noted(record, TURN_KEY).as_deref() == Some(turn.as_str())).collect();
            let text = |role: &Role| {
                of_turn
                    .iter()
                    .find(|record| record.role.as_ref() == Some(role))
                    .map(|r| r.text.clone())
                    .unwrap_or_default()
            };
            exchanges.insert(exchange_key(&Exchange { user: text(&Role::USER), assistant: text(&Role::ASSISTANT) }));
            left.extend(of_turn.iter().map(|record| record.id));
            turns.insert(turn);
        }
    }
}
