//! Retracts the turns that a client removes by editing its history.

use std::collections::BTreeSet;

use memory_engine::{Field, Filter, Kind, Record, RecordId, Result, Role, ScanQuery, State, store::ContentHash};

use super::worker::TurnWorker;
use crate::gateway::{
    thread::{Exchange, exchange_key},
    turn::{ChatTurn, FOLLOWS, StoredTurn, TURN_KEY},
};

/// The reason under which the gateway retracts turns.
const EDIT_REASON: &str = "edited in the chat";
/// Maximum number of records of a session that are searched. A turn has up to two.
const MAX_SCANNED_RECORDS: usize = 1000;
/// Maximum number of retractions of a session that are read.
const MAX_RETRACTIONS: usize = 200;

impl TurnWorker {
    /// Retracts the other turns that follow the same exchange as this one, and all turns after them. Retractions can be
    /// restored. The first turn of a history follows no exchange, so that a new conversation in an old session retracts
    /// nothing.
    pub(super) async fn retract_replaced_turns(&self, turn: &ChatTurn) -> Result<()> {
        let Some(follows) = turn.key.follows.as_deref() else { return Ok(()) };
        let active_turns =
            Filter::eq(Field::Kind, Kind::TURN.as_str()).and(Filter::eq(Field::State, State::Active.as_str()));
        let query = ScanQuery::newest(MAX_SCANNED_RECORDS).with_filter(active_turns);
        let page = self.engine.scan(&turn.address, &query).await?;
        let replaced = replaced_records(&page.records, &turn.key.key, follows);
        if !replaced.is_empty() {
            self.engine.retract(&turn.address, &replaced, EDIT_REASON).await?;
        }
        Ok(())
    }

    /// Returns the records of a turn that were retracted by someone else than the gateway. They must stay retracted
    /// when the turn is repeated. Records that the gateway has retracted are restored with their turn.
    pub(super) async fn retracted_by_others(&self, turn: &ChatTurn, stored: &StoredTurn) -> Result<Vec<RecordId>> {
        let revoked: Vec<&Record> = [&stored.user, &stored.reply]
            .into_iter()
            .flatten()
            .filter(|record| record.state == State::Revoked)
            .filter(|record| {
                // A new reply is not the reply that was retracted.
                let is_reply = record.role == Some(Role::ASSISTANT);
                let text = if is_reply { &turn.exchange.assistant } else { &turn.exchange.user };
                record.content_hash() == ContentHash::of(text)
            })
            .collect();
        if revoked.is_empty() {
            return Ok(Vec::new());
        }
        let retractions = self.engine.retractions(&turn.address, MAX_RETRACTIONS).await?;
        let by_gateway: BTreeSet<RecordId> = retractions
            .into_iter()
            .filter(|retraction| retraction.reason == EDIT_REASON)
            .flat_map(|retraction| retraction.records)
            .collect();
        Ok(revoked.into_iter().map(|record| record.id).filter(|id| !by_gateway.contains(id)).collect())
    }
}

/// Returns the records of other turns that follow the same exchange, and of all turns after them.
fn replaced_records(records: &[Record], key: &str, follows: &str) -> Vec<RecordId> {
    let mut exchanges: BTreeSet<String> = BTreeSet::from([follows.to_owned()]);
    let mut turns: BTreeSet<&str> = BTreeSet::new();
    let mut replaced: Vec<RecordId> = Vec::new();
    loop {
        let followers: BTreeSet<&str> = records
            .iter()
            .filter(|record| metadata_text(record, FOLLOWS).is_some_and(|follows| exchanges.contains(follows)))
            .filter_map(|record| metadata_text(record, TURN_KEY))
            .filter(|turn| *turn != key && !turns.contains(turn))
            .collect();
        if followers.is_empty() {
            return replaced;
        }
        for turn in followers {
            let of_turn: Vec<&Record> =
                records.iter().filter(|record| metadata_text(record, TURN_KEY) == Some(turn)).collect();
            let exchange =
                Exchange { user: text_of(&of_turn, &Role::USER), assistant: text_of(&of_turn, &Role::ASSISTANT) };
            exchanges.insert(exchange_key(&exchange));
            replaced.extend(of_turn.iter().map(|record| record.id));
            turns.insert(turn);
        }
    }
}

fn metadata_text<'r>(record: &'r Record, key: &str) -> Option<&'r str> {
    record.metadata.get(key).and_then(|value| value.as_str())
}

/// Returns the text of the first record with this role.
fn text_of(records: &[&Record], role: &Role) -> String {
    let record = records.iter().find(|record| record.role.as_ref() == Some(role));
    record.map(|record| record.text.clone()).unwrap_or_default()
}
