//! Retracts the turns that a client removes by editing its history.

use std::collections::BTreeSet;

use memory_engine::{Record, RecordId, Result, Role, State, store::ContentHash};

use super::worker::TurnWorker;
use crate::gateway::{
    replacement::{read_turns, replaced_records},
    turn::{ChatTurn, StoredTurn},
};

/// The reason under which the gateway retracts turns.
const EDIT_REASON: &str = "edited in the chat";
/// Maximum number of retractions of a session that are read.
const MAX_RETRACTIONS: usize = 200;

impl TurnWorker {
    /// Retracts the other turns that follow the same exchange as this one, those that follow `former_exchange`, which
    /// is this turn with the reply that it had before, and all turns after them. Retractions can be restored. The first
    /// turn of a history follows no exchange, so that a new conversation in an old session retracts nothing.
    pub(super) async fn retract_replaced_turns(&self, turn: &ChatTurn, former_exchange: Option<String>) -> Result<()> {
        let Some(follows) = turn.key.follows.clone() else { return Ok(()) };
        let turns = read_turns(&self.engine, &turn.address).await?;
        let exchanges = former_exchange.into_iter().chain([follows]).collect();
        let replaced = replaced_records(&turns, &turn.key.key, exchanges);
        if !replaced.is_empty() {
            self.engine.history().retract(&turn.address, &replaced, EDIT_REASON).await?;
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
                record.content_hash() == ContentHash::of(&self.engine.screening().mask(text.as_str()))
            })
            .collect();
        if revoked.is_empty() {
            return Ok(Vec::new());
        }
        let retractions = self.engine.history().retractions(&turn.address, MAX_RETRACTIONS).await?;
        let by_gateway: BTreeSet<RecordId> = retractions
            .into_iter()
            .filter(|retraction| retraction.reason == EDIT_REASON)
            .flat_map(|retraction| retraction.records)
            .collect();
        Ok(revoked.into_iter().map(|record| record.id).filter(|id| !by_gateway.contains(id)).collect())
    }
}
